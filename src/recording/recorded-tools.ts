// The tools that other plugins offer to a session, as a recording stores them: the list, and each change of it.
import { z } from "zod";
import type { CatalogueTool, ToolCatalogue } from "../plugin/tool-catalogue.ts";
import { A2EError } from "../protocol/errors.ts";
import { jsonObject } from "../protocol/json.ts";

const recordedTool = z.object({
  name: z.string(),
  description: z.string(),
  kind: z.string(),
  tags: z.array(z.string()).readonly(),
  version: z.string(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  isIdempotent: z.boolean(),
  isStreaming: z.boolean(),
  isDeferred: z.boolean(),
  toolkit: z.string().optional(),
  source: z.string(),
  annotations: jsonObject.optional(),
  timeoutMs: z.number().optional(),
});

/** All tools in their order; a name stands for a tool that was in the previous list and is unchanged. */
export const recordedTools = z.array(z.union([z.string(), recordedTool]));

type RecordedTool = z.output<typeof recordedTool>;
export type RecordedTools = z.output<typeof recordedTools>;

/** Follows the tools of a session, and records them before the next entry after a change. */
export class ToolsOnRecord {
  readonly #catalogue: ToolCatalogue;
  readonly #stop: () => void;
  /** The recorded tools; undefined before the first. */
  #known: readonly CatalogueTool[] | undefined;
  /** A server may change many of its tools one by one: only the state before the next entry is recorded. */
  #isChanged = true;

  constructor(catalogue: ToolCatalogue) {
    this.#catalogue = catalogue;
    this.#stop = catalogue.onChange(() => {
      // For every change: removing a tool of the session itself may uncover a tool of the same name from outside.
      this.#isChanged = true;
    });
  }

  /** The tools to record; undefined if nothing has changed. */
  take(): RecordedTools | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    const tools = this.#catalogue.list().filter(({ isOutside }) => isOutside === true);
    if (tools.length === this.#known?.length && tools.every((tool, at) => tool === this.#known?.[at])) return undefined;
    const known = new Set(this.#known);
    this.#known = tools;
    return tools.map((tool) => (known.has(tool) ? tool.name : (tool as RecordedTool)));
  }

  close(): void {
    this.#stop();
  }
}

/** Gives a session the tools that a recording has. */
export class ToolsFromRecord {
  readonly #catalogue: ToolCatalogue;
  #known = new Map<string, CatalogueTool>();

  constructor(catalogue: ToolCatalogue) {
    this.#catalogue = catalogue;
  }

  show(recorded: RecordedTools): void {
    const tools = recorded.map((tool) => (typeof tool === "string" ? this.#known.get(tool) : toCatalogueTool(tool)));
    const shown = tools.filter((tool) => tool !== undefined);
    this.#known = new Map(shown.map((tool) => [tool.name, tool]));
    this.#catalogue.replaceOutside(shown);
  }
}

function toCatalogueTool(recorded: RecordedTool): CatalogueTool {
  return {
    ...(recorded as Omit<CatalogueTool, "check" | "run">),
    isOutside: true,
    check: (value) => ({ value }),
    // Never called: the recording has the results of its calls.
    run() {
      throw new A2EError("runtime_error", `the provider of "${recorded.name}" does not exist in a replay`);
    },
  };
}
