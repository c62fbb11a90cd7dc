// In the revision of 2026-07-28 a server may answer a call with the handle of a task (`resultType: "task"`, an extension).
// The SDK refuses what it does not know; this hands the handle through it, in the `_meta` of a result that it does know.
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../protocol/json.ts";

/** Declared by a client, so that servers know they may. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

const handleKey = "a2e/task";

export function withTaskHandle(message: JSONRPCMessage): JSONRPCMessage {
  if (!("result" in message) || message.result.resultType !== "task") return message;
  // An error, because of those the SDK asks for no structured content.
  const result = { resultType: "complete", isError: true, content: [], _meta: { [handleKey]: message.result } };
  return { ...message, result };
}

/** The handle that a result stands for; undefined where it is a result. */
export function taskHandleOf({ _meta }: CallToolResult): JsonObject | undefined {
  return _meta?.[handleKey] as JsonObject | undefined;
}
