// A toolkit with a config: starts what its tools share when it is first needed, and stops it when nobody uses it any more.
import type { CallContext } from "../../../host/call-context.ts";
import type { Logger } from "../../../host/logger.ts";
import type { CatalogueTool } from "../../../host/tool-catalogue.ts";
import type { ToolOutput } from "../../../host/tool-output.ts";
import { A2EError, messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { type AnyToolkitTool, type Running, type Toolkit, toToolOutput } from "../define-toolkit.ts";
import { createScrubber, type Scrubber } from "../secrets/scrubber.ts";
import { joinSecrets, type SplitConfig, textsOf } from "../secrets/secret-values.ts";

export interface RunningToolkitOptions {
  readonly toolkit: Toolkit;
  /** The name before its tools. */
  readonly instance: string;
  /** Checked, with defaults filled. */
  readonly config: SplitConfig;
  readonly environment: ToolkitEnvironment;
}

/** What all toolkits of a host get. */
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

  /** Why the last attempt to start it failed; empty where none has, or one has succeeded since. */
  get startError(): string {
    return this.#startError;
  }

  /** Resolves once its tools can run. What it rejects with is fit for the agent; the next attempt starts anew. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#running(signal);
  }

  /** Calls in flight finish first; no new ones begin. Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#callCount === 0) await this.#release();
  }

  /** The same, with the end of all that could call it: a start that is under way is given up. */
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
      // What starts after all is not needed any more.
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
      this.#log.warn("a toolkit could not stop", { toolkit: this.#options.instance, error });
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
      // Starting may have taken longer than anybody waits.
      if (context.isEnded) throw new A2EError("cancelled", "the call has ended");
      const output = toToolOutput(await tool.run(tool.parse(args), running, scrubber?.context(context) ?? context));
      return scrubber?.value(output) ?? output;
    } catch (error) {
      throw scrubber?.error(error) ?? error;
    } finally {
      this.#callCount -= 1;
      // Not waited for: the answer is there, and stopping may take its time.
      if (this.#isStopped && this.#callCount === 0) void this.#release();
    }
  }
}

/** Rejects with the reason, as soon as there is one. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/**
 * The tools that a toolkit has with this config, by their names in it; all of them where there is none yet. Throws where the
 * toolkit cannot tell.
 */
export function toolsFor({ tools }: Toolkit, config: JsonObject | undefined): [string, AnyToolkitTool][] {
  return [...tools].filter(([name, { when }]) => {
    try {
      return config === undefined || when === undefined || when(config);
    } catch (cause) {
      const reason = messageOf(cause);
      throw new Error(`it cannot tell whether it has the tool "${name}": ${reason}`, { cause });
    }
  });
}

export function toolName(instance: string, tool: string): string {
  return `${instance}__${tool}`;
}
