// The messages between a script and the host: lines of JSON on the script's stdout and stdin.
import * as z from "zod";
import { toEventData } from "../../../protocol/core.ts";
import { isDeeperThan, type JsonObject, type JsonValue, jsonValue, parseJson } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import { llmRequest } from "../protocol.ts";

/** The first line that a script receives. Nothing else of the agent's request is passed on. */
export interface InputLine {
  type: "input";
  input: JsonObject;
  skill: { name: string; version: string };
}

export type LlmAnswerLine =
  | { type: "llm"; id: JsonValue; content: string; model: string; stop_reason: string }
  | { type: "llm"; id: JsonValue; error: { code: string; message: string } };

export type LlmRequest = z.output<typeof llmRequest>;

export interface ScriptEvent {
  kind: string;
  data: JsonObject;
}

export interface ScriptResult {
  data: JsonValue;
  summary: JsonValue;
  /** Set if the script ran to its end but reports a failure. */
  error?: string;
}

export type ScriptMessage =
  | { type: "event"; event: ScriptEvent }
  | { type: "llm"; id: JsonValue; request: LlmRequest | string }
  | { type: "result"; result: ScriptResult }
  | { type: "error"; message: string };

const event = z.object({ kind: z.string().min(1).max(64).catch("status"), data: jsonValue.catch(null) });

const result = z.object({ data: jsonValue.catch(null), summary: jsonValue.catch(null), error: jsonValue.catch("") });

const maxErrorLength = 4000;

/** A line that is not a message was printed for people and becomes a log event. */
export function parseScriptLine(line: string): ScriptMessage {
  const message = toObject(line);
  switch (message?.type) {
    case "event":
      return { type: "event", event: toScriptEvent(message) };
    case "llm":
      return { type: "llm", id: message.id ?? null, request: toLlmRequest(message) };
    case "result":
      return { type: "result", result: toScriptResult(message) };
    case "error":
      return { type: "error", message: toErrorText(message.message ?? null) };
    default:
      return { type: "event", event: { kind: "log", data: { message: line.slice(0, skillLimits.maxLogLineLength) } } };
  }
}

export function toScriptEvent(value: unknown): ScriptEvent {
  const { kind, data } = event.parse(typeof value === "object" && value !== null ? value : { data: value });
  return { kind, data: toEventData(data) };
}

function toScriptResult(value: JsonObject): ScriptResult {
  const { data, summary, error } = result.parse(value);
  const text = toErrorText(error);
  return { data, summary, ...(text === "" ? {} : { error: text }) };
}

/** Any value means that the script failed, except null and false. */
function toErrorText(error: JsonValue): string {
  if (error === null || error === false) return "";
  return (typeof error === "string" ? error : JSON.stringify(error)).slice(0, maxErrorLength);
}

/** Parses a completion request; a `prompt` is enough. Returns a description of the problem if it is not valid. */
export function toLlmRequest({ prompt, ...fields }: JsonObject): LlmRequest | string {
  const messages = typeof prompt === "string" ? [{ role: "user", content: prompt }] : undefined;
  const parsed = llmRequest.safeParse(messages === undefined ? fields : { ...fields, messages });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  return `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "not a completion request"}`;
}

function toObject(line: string): JsonObject | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const message = parseJson(line) as JsonObject;
    if (!isDeeperThan(message, skillLimits.maxMessageDepth)) return message;
    return { type: "error", message: `a message is nested deeper than ${skillLimits.maxMessageDepth} levels` };
  } catch {
    return undefined;
  }
}
