// Tools that plugins of any capability contribute. The kernel itself neither lists nor calls them.
import type { JsonObject, JsonValue } from "../protocol/json.ts";
import type { CallContext } from "./call-context.ts";
import type { ToolOutput } from "./tool-output.ts";

export interface CatalogueTool {
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  readonly tags: readonly string[];
  readonly version: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of the returned data, if the tool declares it. */
  readonly outputSchema?: JsonObject;
  readonly isIdempotent: boolean;
  readonly isStreaming: boolean;
  /** Left out of lists unless they are asked to include it, to keep the context of a model small. */
  readonly isDeferred: boolean;
  /** The toolkit that contains the tool. */
  readonly toolkit?: string;
  /** The plugin that contributed the tool, or the server behind the plugin. */
  readonly source: string;
  /**
   * The tool comes from outside of the host, for example from an MCP server, and may be added or removed at any time. A
   * recording stores these tools and their results. A replay uses the recorded tools: plugins must not add any.
   */
  readonly isOutside?: boolean;
  /**
   * The returned data depends on the arguments alone: `run` returns at once, uses no context and has no effects, so it
   * may also run twice. Other capabilities can run it with `runPure` of the catalogue, without a call.
   */
  readonly isPure?: boolean;
  readonly annotations?: JsonObject;
  readonly timeoutMs?: number;
  /** Returns the problems of the arguments, or the arguments with defaults filled in. */
  check(args: JsonObject): { value: JsonObject } | { problems: ToolProblem[] };
  run(args: JsonObject, context: CallContext): ToolOutput | Promise<ToolOutput>;
}

export interface ToolProblem {
  /** The place in the arguments, for example `filters[2].name`. */
  path: string;
  message: string;
}

/**
 * Runs a pure tool under the policy and limits of `tool/call`. Returns undefined if the tool has to be called instead.
 */
export type PureRunner = (tool: CatalogueTool, args: JsonObject, context: CallContext) => JsonValue | undefined;

export class ToolCatalogue {
  readonly #tools = new Map<string, CatalogueTool>();
  readonly #parent: ToolCatalogue | undefined;
  readonly #wrap: ((tool: CatalogueTool) => CatalogueTool) | undefined;
  readonly #listeners = new Set<() => void>();
  #pureRunner: PureRunner | undefined;
  #listed: { inherited: readonly CatalogueTool[]; tools: readonly CatalogueTool[] } | undefined;

  /** The catalogue of a session also has the tools of its parent, the host. `wrap` replaces each tool that is added. */
  constructor(parent?: ToolCatalogue, wrap?: (tool: CatalogueTool) => CatalogueTool) {
    this.#parent = parent;
    this.#wrap = wrap ?? (parent === undefined ? undefined : parent.#wrap);
  }

  /** Adds tools; the returned function removes them. Throws if a name is already in use. */
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

  /** Replaces all tools that have `isOutside`, for a replay: the new tools come from the recording. */
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
   * Runs a pure tool without a call and returns its data. For use within `inlineCall` of the caller's context, which
   * admits and counts it. Returns undefined if the tool has to be called: it is not pure, not allowed, refuses its
   * arguments, or fails.
   */
  runPure(tool: CatalogueTool, args: JsonObject, context: CallContext): JsonValue | undefined {
    return tool.isPure === true ? this.#pureRunner?.(tool, args, context) : undefined;
  }

  /** Tools with `isOutside` are last, so that adding or removing them does not move the others. */
  list(): readonly CatalogueTool[] {
    const inherited = this.#parent?.list() ?? noTools;
    // Most sessions have no tools of their own, and share the list of the host.
    if (this.#tools.size === 0) return inherited;
    if (this.#listed?.inherited === inherited) return this.#listed.tools;
    // A tool of the same name may have been added to the host later: as in `get`, the session's tool is used.
    const all = [...inherited.filter((tool) => !this.#tools.has(tool.name)), ...this.#tools.values()];
    const tools = [...all.filter((tool) => !isOutside(tool)), ...all.filter(isOutside)];
    this.#listed = { inherited, tools };
    return tools;
  }

  /**
   * Calls the listener after tools were added or removed, here or in the parent, until the returned function is called.
   */
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
