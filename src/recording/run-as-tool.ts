// Work that reaches out of its session as a tool does, without being one: starting a toolkit, running a skill. It is recorded
// as a tool, so a replay takes its outcome from the recording and reaches nothing.

import type { CallContext } from "../host/call-context.ts";
import { type CatalogueTool, ToolCatalogue } from "../host/tool-catalogue.ts";
import type { JsonObject } from "../protocol/json.ts";

/**
 * The result must be JSON, and events must be sent by the context that `work` is given. `catalogue` is one of the host that
 * records, or not: a catalogue wraps the tools that are added to it.
 */
export async function runAsTool<Result extends object>(
  catalogue: ToolCatalogue,
  context: CallContext,
  work: (context: CallContext) => Promise<Result>,
): Promise<Result> {
  const apart = new ToolCatalogue(catalogue);
  apart.add([{ ...noTool, run: async (_args, recorded) => ({ data: (await work(recorded)) as JsonObject }) }]);
  const output = await apart.get(noTool.name)?.run({}, context);
  return output?.data as Result;
}

const noTool: Omit<CatalogueTool, "run"> = {
  // Nothing that a catalogue lists has a space in its name.
  name: "no tool",
  description: "",
  kind: "function",
  tags: [],
  version: "1.0.0",
  inputSchema: {},
  isIdempotent: false,
  isStreaming: false,
  isDeferred: false,
  source: "host",
  check: (args) => ({ value: args }),
};
