// In revision 2026-07-28 a server may answer a call with the handle of a task (`resultType: "task"`, an extension). The
// SDK rejects unknown result types, so the handle is passed through it in the `_meta` of a known type.
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../protocol/json.ts";

/** The client declares this extension, so that servers may answer with tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

const handleKey = "a2e/task";

export function withTaskHandle(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message) || message.result.resultType !== "task") return message;
  // Marked as an error, because the SDK requires no structured content of errors.
  const result = { resultType: "complete", isError: true, content: [], _meta: { [handleKey]: message.result } };
  return { ...message, result };
}

/** The handle in a result; undefined if it is an ordinary result. */
export function taskHandleOf({ _meta }: CallToolResult): JsonObject | undefined {
  return _meta?.[handleKey] as JsonObject | undefined;
}
