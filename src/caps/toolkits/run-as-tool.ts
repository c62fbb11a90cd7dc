// Starting a toolkit reaches out of the session as a tool does, so it is recorded as one: a replay takes its outcome from
// the recording, and starts nothing.
import type { CallContext } from "../../host/call-context.ts";
import { type CatalogueTool, ToolCatalogue } from "../../host/tool-catalogue.ts";
import type { JsonObject } from "../../protocol/json.ts";

/** The result must be JSON. `catalogue` is one of the host that records, or not: a catalogue wraps the tools that are added to it. */
export async function runAsTool<Result extends object>(
  catalogue: ToolCatalogue,
  context: CallContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const apart = new ToolCatalogue(catalogue);
  apart.add([{ ...noTool, run: async () => ({ data: (await work()) as JsonObject }) }]);
  const output = await apart.get(noTool.name)?.run({}, context);
  return output?.data as Result;
}

const noTool: Omit<CatalogueTool, "run"> = {
  // Nothing that a catalogue lists has a space in its name.
  name: "start toolkit",
  description: "",
  kind: "function",
  tags: [],
  version: "1.0.0",
  inputSchema: {},
  isIdempotent: false,
  isStreaming: false,
  isDeferred: false,
  source: "toolkits",
  check: (args) => ({ value: args }),
};
