// A configured toolkit: starts the shared resource of its tools on first use, and stops it when no call uses it any
// more.
import type { CallContext } from "../../../plugin/call-context.ts";
import type { Logger } from "../../../plugin/logger.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import { A2EError, messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { type AnyToolkitTool, type Running, type Toolkit, toToolOutput } from "../define-toolkit.ts";
import { createScrubber, type Scrubber } from "../secrets/scrubber.ts";
import { joinSecrets, type SplitConfig, textsOf } from "../secrets/secret-values.ts";

export interface RunningToolkitOptions {
  readonly toolkit: Toolkit;
  /** The prefix of the names of its tools. */
  readonly instance: string;
  /** Checked, with defaults filled in. */
  readonly config: SplitConfig;
  readonly environment: ToolkitEnvironment;
}

/** Passed to all toolkits of a host. */
export interface ToolkitEnvironment {
  readonly workspaceDir: string;
  readonly dataDir: string;
  readonly log: Logger;
  readonly startTimeoutMs: number;
}

export class RunningToolkit {
  readonly tools: readonly CatalogueTool[];
  readonly #options: RunningToolkitOptions;
  readonly #scrubber: Scrubber | undefined;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #starting: Promise<Running<unknown, unknown>> | undefined;
  #startError = "";
  #callCount = 0;
  #isStopped = false;

  constructor(options: RunningToolkitOptions) {
    this.#options = options;
    const { config, toolkit, environment } = options;
    this.#scrubber = createScrubber(textsOf(config.secrets));
    this.#log = this.#scrubber?.log(environment.log) ?? environment.log;
    this.tools = toolsFor(toolkit, config.shown).map(([name, tool]) => this.#toCatalogueTool(name, tool));
  }

  /** Why the last start failed; empty if there was no attempt or the last one succeeded. */
  get startError(): string {
    return this.#startError;
  }

  /** Resolves when the tools can run. Rejects with an error that the agent may see; the next call tries again. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#running(signal);
  }

  /** Running calls finish first, and new calls are rejected. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#callCount === 0) await this.#release();
  }

  /** Like `stop`, at the end of the session or of the host: a running start is aborted as well. */
  close(): Promise<void> {
    this.#closing.abort(new A2EError("cancelled", "the session has ended"));
    return this.stop();
  }

  #running(signal?: AbortSignal): Promise<Running<unknown, unknown>> {
    this.#starting ??= this.#start(signal).then(
      (running) => {
        this.#startError = "";
        return running;
      },
      (thrown: unknown) => {
        this.#starting = undefined;
        const error = this.#scrubber?.error(thrown) ?? thrown;
        this.#startError = messageOf(error);
        throw error;
      },
    );
    return this.#starting;
  }

  async #start(signal: AbortSignal | undefined): Promise<Running<unknown, unknown>> {
    const { toolkit, config: split, environment } = this.#options;
    const { workspaceDir, dataDir, startTimeoutMs } = environment;
    const config = toolkit.parseConfig(joinSecrets(split.shown, split.secrets));
    const deadline = new AbortController();
    const tooSlow = new A2EError("timeout", `it did not start within ${startTimeoutMs / 1000} s`);
    const timer = setTimeout(() => deadline.abort(tooSlow), startTimeoutMs);
    const ended = AbortSignal.any([deadline.signal, this.#closing.signal, ...(signal === undefined ? [] : [signal])]);
    const starting = (async () => toolkit.start(config, { workspaceDir, dataDir, log: this.#log, signal: ended }))();
    try {
      const resource = await Promise.race([starting, rejectOnAbort(ended)]);
      return { config, resource, log: this.#log };
    } catch (error) {
      // If the start succeeds later, its resource is not needed any more.
      if (ended.aborted)
        void starting.then(
          (resource) => this.#stopResource(resource),
          () => {},
        );
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #release(): Promise<void> {
    const starting = this.#starting;
    this.#starting = undefined;
    const running = await starting?.catch(() => undefined);
    if (running !== undefined) await this.#stopResource(running.resource);
  }

  async #stopResource(resource: unknown): Promise<void> {
    try {
      await this.#options.toolkit.stop(resource);
    } catch (error) {
      this.#log.warn("stop() of a toolkit threw", { toolkit: this.#options.instance, error });
    }
  }

  #toCatalogueTool(name: string, tool: AnyToolkitTool): CatalogueTool {
    const { toolkit, instance } = this.#options;
    return {
      name: toolName(instance, name),
      description: tool.description,
      kind: tool.kind ?? "function",
      tags: tool.tags ?? toolkit.tags,
      version: toolkit.version,
      inputSchema: tool.input,
      ...(tool.output === undefined ? {} : { outputSchema: tool.output }),
      isIdempotent: tool.idempotent ?? false,
      isStreaming: tool.streaming ?? false,
      isDeferred: tool.deferred ?? false,
      toolkit: instance,
      source: `toolkit ${toolkit.name}`,
      ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
      ...(tool.timeoutMs === undefined ? {} : { timeoutMs: tool.timeoutMs }),
      check: tool.check,
      run: (args, context) => this.#call(tool, args, context),
    };
  }

  async #call(tool: AnyToolkitTool, args: JsonObject, context: CallContext): Promise<ToolOutput> {
    const { instance } = this.#options;
    if (this.#isStopped) throw new A2EError("cancelled", `the toolkit "${instance}" was removed`);
    this.#callCount += 1;
    const scrubber = this.#scrubber;
    try {
      const running = await this.#running();
      // The call may have ended while the toolkit started.
      if (context.isEnded) throw new A2EError("cancelled", "the call has ended");
      const output = toToolOutput(await tool.run(tool.parse(args), running, scrubber?.context(context) ?? context));
      return scrubber?.value(output) ?? output;
    } catch (error) {
      throw scrubber?.error(error) ?? error;
    } finally {
      this.#callCount -= 1;
      // Not awaited: the answer is ready, and stopping may take long.
      if (this.#isStopped && this.#callCount === 0) void this.#release();
    }
  }
}

/** Rejects with the reason of the signal when it is aborted. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/**
 * The tools of a toolkit with this config, by name; without a config, all tools. Throws if `when` of a tool throws.
 */
export function toolsFor({ tools }: Toolkit, config: JsonObject | undefined): [string, AnyToolkitTool][] {
  return [...tools].filter(([name, { when }]) => {
    try {
      return config === undefined || when === undefined || when(config);
    } catch (cause) {
      const reason = messageOf(cause);
      throw new Error(`when() of the tool "${name}" threw: ${reason}`, { cause });
    }
  });
}

export function toolName(instance: string, tool: string): string {
  return `${instance}__${tool}`;
}
