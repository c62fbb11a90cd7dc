// How nodes call other capabilities: by their types on the wire, as an agent would.
import type { CallOptions } from "../../../host/call-context.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { toolFailed } from "./node-error.ts";
import type { Awaitable, RunPort } from "./run-port.ts";

/** Calls a tool or a skill; what comes back still has to go through `toOutput`. */
export function startCall(
  port: RunPort,
  kind: "tool" | "skill",
  name: string,
  args: JsonObject,
  timeoutMs: number,
  options: CallOptions,
): Awaitable<JsonObject> {
  const timeout = timeoutMs / 1000;
  // A node without a time of its own has that of the chain, not that of a call which names none.
  options.timeoutMs = timeoutMs > 0 ? timeoutMs : Number.MAX_SAFE_INTEGER;
  const streaming = options.onEvent !== undefined;
  if (kind === "tool")
    return port.call("tool/call/req", { tool_name: name, arguments: args, timeout, streaming }, options);
  return port.call("skill/call/req", { name, arguments: args, timeout, streaming }, options);
}

/** What a tool or skill returned, out of its answer. Throws where that says that it has failed. */
export function toOutput(name: string, answer: JsonObject): JsonValue {
  const { data: result } = answer;
  if (!isJsonObject(result)) {
    if (isJsonObject(answer.error)) throw toolFailed(name, answer.error.message, answer.error.code);
    return result ?? null;
  }
  if (result.success === false) throw toolFailed(name, result.error, result.error_code);
  return result.data ?? null;
}
