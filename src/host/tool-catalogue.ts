// Tools that plugins contribute, whichever capability they belong to. The kernel neither lists nor calls them.
import type { JsonObject, JsonValue } from "../protocol/json.ts";
import type { CallContext } from "./call-context.ts";
import type { ToolOutput } from "./tool-output.ts";

/** What the catalogue knows of a tool: enough to show it and to run it. */
export interface CatalogueTool {
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly version: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of the data it returns, where it says so. */
  readonly outputSchema?: JsonObject;
  readonly isIdempotent: boolean;
  readonly isStreaming: boolean;
  /** Left out of lists unless asked for, to keep a model's context small. */
  readonly isDeferred: boolean;
  /** The toolkit it came with. */
  readonly toolkit?: string;
  /** Where it came from: the plugin, or the server behind it. */
  readonly source: string;
  /**
   * Others offer it, as servers do, and it comes and goes with them: a recording holds what there was of it and what came of
   * it. A replay takes that from there, and nobody adds such a tool to its catalogues.
   */
  readonly isOutside?: boolean;
  /**
   * Its data follows from its arguments alone: `run` returns at once, uses no context and has no effects, so it may also run
   * twice. Other capabilities can then have it run without a call of its own (`runPure` of the catalogue).
   */
  readonly isPure?: boolean;
  readonly annotations?: JsonObject;
  readonly timeoutMs?: number;
  /** Returns what is wrong with the arguments, or the arguments with defaults filled. */
  check(args: JsonObject): { value: JsonObject } | { problems: ToolProblem[] };
  run(args: JsonObject, context: CallContext): ToolOutput | Promise<ToolOutput>;
}

export interface ToolProblem {
  /** Where in the arguments, as in `filters[2].name`. */
  path: string;
  message: string;
}

/** Runs a pure tool under the policy and limits of `tool/call`. Returns undefined if the tool has to be called: that call tells why. */
export type PureRunner = (tool: CatalogueTool, args: JsonObject, context: CallContext) => JsonValue | undefined;

export class ToolCatalogue {
  readonly #tools = new Map<string, CatalogueTool>();
  readonly #parent: ToolCatalogue | undefined;
  readonly #wrap: ((tool: CatalogueTool) => CatalogueTool) | undefined;
  readonly #listeners = new Set<() => void>();
  #pureRunner: PureRunner | undefined;
  #listed: { inherited: readonly CatalogueTool[]; tools: readonly CatalogueTool[] } | undefined;

  /** A session's catalogue shows its parent's tools beneath its own. `wrap` is given each tool that is added. */
  constructor(parent?: ToolCatalogue, wrap?: (tool: CatalogueTool) => CatalogueTool) {
    this.#parent = parent;
    this.#wrap = wrap ?? (parent === undefined ? undefined : parent.#wrap);
  }

  /** Adds tools and returns what takes them away again. A name that is taken is an error: silence would hide one of the two. */
  add(tools: Iterable<CatalogueTool>): () => void {
    const added = this.#wrap === undefined ? [...tools] : Array.from(tools, this.#wrap);
    const names = new Map<string, CatalogueTool>();
    for (const tool of added) {
      const holder = this.get(tool.name) ?? names.get(tool.name);
      names.set(tool.name, tool);
      if (holder !== undefined)
        throw new Error(`tool "${tool.name}" of ${tool.source} exists already, from ${holder.source}`);
    }
    for (const tool of added) this.#tools.set(tool.name, tool);
    this.#changed();
    return () => {
      const removed = added.filter((tool) => this.#tools.get(tool.name) === tool);
      for (const { name } of removed) this.#tools.delete(name);
      if (removed.length > 0) this.#changed();
    };
  }

  /** Puts these in the place of all that others offer here: a replay has what the recording says there was. */
  replaceOutside(tools: Iterable<CatalogueTool>): void {
    for (const tool of [...this.#tools.values()]) if (isOutside(tool)) this.#tools.delete(tool.name);
    for (const tool of tools) this.#tools.set(tool.name, this.#wrap?.(tool) ?? tool);
    this.#changed();
  }

  get(name: string): CatalogueTool | undefined {
    const own = this.#tools.size === 0 ? undefined : this.#tools.get(name);
    return own ?? this.#parent?.get(name);
  }

  /** Set by the plugin that serves `tool/call` in this session, until the returned function is called. */
  setPureRunner(run: PureRunner): () => void {
    this.#pureRunner = run;
    return () => {
      if (this.#pureRunner === run) this.#pureRunner = undefined;
    };
  }

  /**
   * The data of a pure tool, without a call of its own; for use within `inlineCall` of the caller's context, which admits and
   * counts it. Returns undefined if the tool has to be called: it is not pure, not allowed, refuses its arguments, or fails.
   */
  runPure(tool: CatalogueTool, args: JsonObject, context: CallContext): JsonValue | undefined {
    return tool.isPure === true ? this.#pureRunner?.(tool, args, context) : undefined;
  }

  /** What others offer comes last, so that it moves nothing else when it comes and goes. */
  list(): readonly CatalogueTool[] {
    const inherited = this.#parent?.list() ?? noTools;
    // Most sessions bring no tools of their own, and all of those share one list.
    if (this.#tools.size === 0) return inherited;
    if (this.#listed?.inherited === inherited) return this.#listed.tools;
    // The host may have been given a tool of the same name since: as in `get`, the session's own stands.
    const all = [...inherited.filter((tool) => !this.#tools.has(tool.name)), ...this.#tools.values()];
    const tools = [...all.filter((tool) => !isOutside(tool)), ...all.filter(isOutside)];
    this.#listed = { inherited, tools };
    return tools;
  }

  /** Tells of additions and removals here or in the parent, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    const stopParent = this.#parent?.onChange(listener);
    return () => {
      this.#listeners.delete(listener);
      stopParent?.();
    };
  }

  #changed(): void {
    this.#listed = undefined;
    for (const listener of this.#listeners) listener();
  }
}

function isOutside(tool: CatalogueTool): boolean {
  return tool.isOutside === true;
}

const noTools: readonly CatalogueTool[] = [];
