// The tools that others offer to a session, as they stand in a recording: what they were, and whenever they changed.
import { z } from "zod";
import { A2EError } from "../../protocol/errors.ts";
import { jsonObject } from "../../protocol/json.ts";
import type { CatalogueTool, ToolCatalogue } from "../tool-catalogue.ts";

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
  usesContext: z.boolean().optional(),
  isDeferred: z.boolean(),
  toolkit: z.string().optional(),
  source: z.string(),
  annotations: jsonObject.optional(),
  timeoutMs: z.number().optional(),
});

/** All of them in their order; a name stands for one that was on the list before and is the same. */
export const recordedTools = z.array(z.union([z.string(), recordedTool]));

type RecordedTool = z.output<typeof recordedTool>;
export type RecordedTools = z.output<typeof recordedTools>;

/** Follows the tools of a session, and writes them down before whatever comes after a change of them. */
export class ToolsOnRecord {
  readonly #catalogue: ToolCatalogue;
  readonly #stop: () => void;
  #known = new Set<CatalogueTool>();
  /** A server may change many of its tools one by one: nobody sees that before the next thing happens. */
  #isChanged = true;

  constructor(catalogue: ToolCatalogue) {
    this.#catalogue = catalogue;
    this.#stop = catalogue.onChange((isOutside) => {
      this.#isChanged ||= isOutside;
    });
  }

  /** What there is to write down; undefined where nothing has changed. */
  take(): RecordedTools | undefined {
    if (!this.#isChanged) return undefined;
    this.#isChanged = false;
    const known = this.#known;
    const tools = this.#catalogue.list().filter(({ isOutside }) => isOutside === true);
    this.#known = new Set(tools);
    // Its functions are left out, as JSON leaves them out.
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
    // What came of its calls is in the recording, too.
    run() {
      throw new A2EError("runtime_error", `what offered "${recorded.name}" is not there in a replay`);
    },
  };
}
