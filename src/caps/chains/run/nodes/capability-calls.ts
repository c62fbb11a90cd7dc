// How nodes call other capabilities: by their types on the wire, as an agent would.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../protocol/json.ts";
import { toolFailed } from "./node-error.ts";

/** What answers these requests still has to go through `toOutput`. */
export const callTypes = { tool: "tool/call/req", skill: "skill/call/req" } as const;

export function toRequest(
  kind: "tool" | "skill",
  name: string,
  args: JsonObject,
  timeoutMs: number,
  streaming: boolean,
): JsonObject {
  const timeout = timeoutMs / 1000;
  if (kind === "tool") return { tool_name: name, arguments: args, timeout, streaming };
  return { name, arguments: args, timeout, streaming };
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

/** Whether the answer of a tool or skill says that there was more. */
export function isTruncated({ data: result }: JsonObject): boolean {
  return isJsonObject(result) && result.truncated === true;
}
