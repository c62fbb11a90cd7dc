// Lines in, messages out, and back. Hostile input yields a refusal, never an exception.
import { type Message, protocolVersion } from "./envelope.ts";
import { type A2EError, refusal } from "./errors.ts";
import { isDeeperThan, type JsonObject, parseJson, writeJson } from "./json.ts";
import type { Limits } from "./limits.ts";

/**
 * A message, or the error of the line. `req_id` is the id that an answer to the line must carry; absent if the line
 * had no readable id. A message without an id has been given one for its handler.
 */
export type Decoded =
  | { readonly message: Message; readonly error?: undefined; readonly req_id?: string }
  | { readonly message?: undefined; readonly error: A2EError; readonly req_id?: string };

type LineLimits = Pick<Limits, "maxLineBytes" | "maxDepth" | "maxIdLength">;

/** Decodes a line. */
export function decodeLine(line: string, limits: LineLimits, nextId: () => string): Decoded {
  // A UTF-16 length is at most the byte length, so this rejects no line that fits, without encoding it to count bytes.
  if (line.length > limits.maxLineBytes) return tooLong(limits);
  let value: unknown;
  try {
    value = parseJson(line);
  } catch (cause) {
    return { error: refusal("parse_error", `not JSON: ${(cause as Error).message}`) };
  }
  const decoded = decodeValue(value, limits, nextId);
  if (decoded.message === undefined || !isDeeperThan(value, limits.maxDepth)) return decoded;
  const detail = { limit: "maxDepth", max_depth: limits.maxDepth };
  const error = refusal("invalid_message", `nested deeper than ${limits.maxDepth}`, { detail });
  return refused(error, decoded.req_id);
}

export function tooLong(limits: Pick<Limits, "maxLineBytes">): Decoded {
  const detail = { limit: "maxLineBytes", max_bytes: limits.maxLineBytes };
  return { error: refusal("invalid_message", `line is longer than ${limits.maxLineBytes} bytes`, { detail }) };
}

/** The same for a value that was never text. Its depth shows when it is copied. A missing id is filled in for the answer. */
export function decodeValue(value: unknown, limits: LineLimits, nextId: () => string): Decoded {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const found = Array.isArray(value) ? "an array" : value === null ? "null" : `a ${typeof value}`;
    return { error: refusal("invalid_message", `a message is one JSON object, not ${found}`) };
  }
  const message = value as Message;
  // The value may still belong to the sender, so it is not modified.
  const { id, type } = message as { id: unknown; type: unknown };
  const req_id = id === undefined || id === null || id === "" ? undefined : id;
  if (req_id !== undefined) {
    if (typeof req_id !== "string")
      return badField("id", "expected a string", typeof req_id === "number" ? String(req_id) : undefined);
    if (req_id.length > limits.maxIdLength) {
      // The id is too long to be repeated; the sender recognises it by the limit.
      const limit = { limit: "maxIdLength", max_length: limits.maxIdLength };
      return badField("id", `longer than ${limits.maxIdLength} characters`, undefined, limit);
    }
  }
  if (typeof type !== "string" || type === "") return badField("type", "expected a message type", req_id);
  return req_id === undefined ? { message: { ...message, id: nextId() } } : { message, req_id };
}

function badField(path: string, problem: string, req_id: string | undefined, more: JsonObject = {}): Decoded {
  const detail = { issues: [{ path, message: problem }], ...more };
  return refused(refusal("schema_violation", `${path}: ${problem}`, { detail }), req_id);
}

function refused(error: A2EError, req_id: string | undefined): Decoded {
  return req_id === undefined ? { error } : { error, req_id };
}

/** Encodes a message as a line, without the newline. */
export function encodeMessage(message: Message): string {
  return writeJson(message);
}

/** Gives the fields of a message their envelope. */
export function createMessage(type: string, id: string, nowMs: number, fields: object): Message {
  return { type, id, a2e: protocolVersion, version: protocolVersion, ts: nowMs / 1000, ...fields };
}
