// A toolkit with a config: starts what its tools share when it is first needed, and stops it when nobody uses it any more.
import type { CallContext } from "../../host/call-context.ts";
import type { Logger } from "../../host/logger.ts";
import type { CatalogueTool, ToolOutput } from "../../host/tool-catalogue.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { type AnyToolkitTool, type Running, type Toolkit, toToolOutput } from "./define-toolkit.ts";
import { createCheck } from "./schema-check.ts";
import { createScrubber, type Scrubber } from "./scrubber.ts";

export interface RunningToolkitOptions {
  readonly toolkit: Toolkit;
  /** The name before its tools. */
  readonly instance: string;
  /** Checked, with defaults filled and secrets in it. */
  readonly config: JsonObject;
  readonly secrets: readonly string[];
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
  #starting: Promise<Running<unknown, unknown>> | undefined;
  #callCount = 0;
  #isStopped = false;

  constructor(options: RunningToolkitOptions) {
    this.#options = options;
    this.#scrubber = createScrubber(options.secrets);
    const { log } = options.environment;
    this.#log = this.#scrubber?.log(log) ?? log;
    this.tools = Array.from(toolsFor(options.toolkit, options.config), ([name, tool]) =>
      this.#toCatalogueTool(name, tool),
    );
  }

  /** Resolves once its tools can run. What it rejects with is fit for the agent; the next attempt starts anew. */
  async start(): Promise<void> {
    await this.#running();
  }

  /** Calls in flight finish first; no new ones begin. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#callCount === 0) await this.#release();
  }

  #running(): Promise<Running<unknown, unknown>> {
    this.#starting ??= this.#start().catch((error: unknown) => {
      this.#starting = undefined;
      throw this.#scrubber?.error(error) ?? error;
    });
    return this.#starting;
  }

  async #start(): Promise<Running<unknown, unknown>> {
    const { toolkit, config: given, environment } = this.#options;
    const { workspaceDir, dataDir, startTimeoutMs } = environment;
    const config = toolkit.parseConfig(given);
    const deadline = new AbortController();
    const tooSlow = new A2EError("timeout", `it did not start within ${startTimeoutMs / 1000} s`);
    const timer = setTimeout(() => deadline.abort(tooSlow), startTimeoutMs);
    const context = { workspaceDir, dataDir, log: this.#log, signal: deadline.signal };
    try {
      const starting = Promise.resolve(toolkit.start(config, context));
      const late = new Promise<never>((_resolve, reject) =>
        deadline.signal.addEventListener("abort", () => {
          reject(tooSlow);
          // What starts after all is not needed any more.
          starting.then((resource) => toolkit.stop(resource)).catch((error: unknown) => this.#noteFailure(error));
        }),
      );
      const resource = await Promise.race([starting, late]);
      return { config, resource, log: this.#log };
    } finally {
      clearTimeout(timer);
    }
  }

  async #release(): Promise<void> {
    const starting = this.#starting;
    this.#starting = undefined;
    if (starting === undefined) return;
    try {
      const { resource } = await starting;
      await this.#options.toolkit.stop(resource);
    } catch (error) {
      this.#noteFailure(error);
    }
  }

  #noteFailure(error: unknown): void {
    this.#log.warn("a toolkit could not stop", { toolkit: this.#options.instance, error });
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
      check: createCheck(tool.input, tool.parse),
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
      const output = toToolOutput(await tool.run(tool.parse(args), running, scrubber?.context(context) ?? context));
      return scrubber?.value(output) ?? output;
    } catch (error) {
      throw scrubber?.error(error) ?? error;
    } finally {
      this.#callCount -= 1;
      if (this.#isStopped && this.#callCount === 0) await this.#release();
    }
  }
}

/** The tools that a toolkit has with this config, by their names in it; all of them where there is none yet. */
export function toolsFor({ tools }: Toolkit, config: JsonObject | undefined): [string, AnyToolkitTool][] {
  return [...tools].filter(([, { when }]) => config === undefined || when === undefined || when(config));
}

export function toolName(instance: string, tool: string): string {
  return `${instance}__${tool}`;
}
