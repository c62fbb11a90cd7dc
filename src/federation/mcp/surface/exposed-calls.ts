// How a call of a table appears as an MCP tool: its name, and hints about its effect, from the table's `asTool`.
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { Call, ToolEffect } from "../../../protocol/table/capability.ts";

/** MCP clients decide by these hints whether to ask their user before a call. */
export const annotationsOf: Readonly<Record<ToolEffect, ToolAnnotations>> = {
  reads: { readOnlyHint: true, openWorldHint: false },
  adds: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
  destroys: { readOnlyHint: false, destructiveHint: true, openWorldHint: false },
  acts: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
};

/** Derived from the wire type, as in `planning_task_add` for `planning/task/add`, unless the table names the tool. */
export function toToolName({ type, asTool }: Pick<Call, "type" | "asTool">): string {
  return asTool?.name ?? type.replace(/\/req$/, "").replaceAll("/", "_");
}
