// How nodes call other capabilities: by wire types, as an agent does.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../protocol/json.ts";
import { toolFailed } from "./node-error.ts";

/** Answers to these requests must be converted with `toOutput`. */
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

/** The output of a tool or skill from its answer. Throws if the answer reports a failure. */
export function toOutput(name: string, answer: JsonObject): JsonValue {
  const { data: result } = answer;
  if (!isJsonObject(result)) {
    if (isJsonObject(answer.error)) throw toolFailed(name, answer.error.message, answer.error.code);
    return result ?? null;
  }
  if (result.success === false) throw toolFailed(name, result.error, result.error_code);
  return result.data ?? null;
}

/** Whether the answer of a tool or skill was truncated. */
export function isTruncated({ data: result }: JsonObject): boolean {
  return isJsonObject(result) && result.truncated === true;
}
