// Secrets do not belong into recordings. Their results are recorded instead: the agent that a token stood for, the
// outcome of a config. So a replay needs no secret, and a recording can be passed on.

import { type JsonObject, parseJson } from "../protocol/json.ts";
import type { Call } from "../protocol/table/capability.ts";
import type { TypeRegistry } from "../protocol/table/registry.ts";
import { concealRefused, emptyLike, refusalOf } from "./refused-request.ts";

/** Removes secrets from lines and requests before they are recorded; those without secrets are returned unchanged. */
export interface Concealment {
  /** Of a line as it came. */
  ofLine(line: string): string;
  /** Of a request of this type. */
  ofRequest(type: unknown, request: JsonObject): JsonObject;
}

/** Of every message, and so in no table. */
const envelopeFields: ReadonlySet<string> = new Set(["type", "id", "a2e", "version", "ts", "req_id"]);

export function createConcealment(registry: TypeRegistry): Concealment {
  const concealing = new Map<string, Call>();
  for (const [type, entry] of registry) {
    const request = entry.kind === "response" ? entry.asRequest : entry.kind === "request" ? entry : undefined;
    if (request !== undefined && request.call.concealed.length > 0) concealing.set(type, request.call);
  }
  const names = new Set([...concealing.values()].flatMap(({ concealed }) => concealed));
  const isConcealed = (type: unknown, name: string): boolean => {
    // A message of an unknown type may be a misspelled request: a handshake whose type is misspelled contains a token.
    if (typeof type !== "string" || !registry.has(type)) return names.has(name);
    const call = concealing.get(type);
    if (call === undefined || envelopeFields.has(name)) return false;
    // A field that the request does not declare may be a misspelled secret. The handler does not read it, so a replay
    // does not need it.
    return call.concealed.includes(name) || !Object.hasOwn(call.request.shape, name);
  };
  const ofRequest = (type: unknown, request: JsonObject): JsonObject => {
    // A plugin may pass a value that is not an object; it is rejected later.
    const found = Object.keys(request ?? {}).filter((name) => isConcealed(type, name));
    const shown =
      found.length === 0
        ? request
        : { ...request, ...Object.fromEntries(found.map((name) => [name, emptyLike(request[name])])) };
    const call = typeof type === "string" ? concealing.get(type) : undefined;
    if (call === undefined || refusalOf(call, request) === undefined) return shown;
    const others = Object.keys(request ?? {}).filter((name) => !found.includes(name) && !envelopeFields.has(name));
    return concealRefused(call, shown, others);
  };
  const marks = [...names, ...concealing.keys()];
  // Escapes can spell the name of a field or a type, too.
  const isSuspect = (line: string) => /\\[u/]/.test(line) || marks.some((mark) => line.includes(mark));
  const ofLine = (line: string): string => {
    if (!isSuspect(line)) return line;
    const message = parse(line);
    if (message === undefined) return maskTexts(line, marks);
    const shown = ofRequest(message.type, message);
    return shown === message ? line : JSON.stringify(shown);
  };
  return { ofLine, ofRequest };
}

/**
 * A line that is not JSON was rejected in the recording and is rejected in a replay, with the same error text as long
 * as it is invalid at the same position. Therefore the masked texts keep their length.
 */
function maskTexts(line: string, marks: readonly string[]): string {
  const starts = marks.flatMap((mark) => (line.includes(mark) ? [line.indexOf(mark) + mark.length] : []));
  if (starts.length === 0) return line;
  const start = Math.min(...starts);
  // The quote that ends the mark itself is taken for the end of a text, as it is.
  let isInText = true;
  let masked = line.slice(0, start);
  for (let at = start; at < line.length; at++) {
    const character = line[at];
    if (character === '"') isInText = !isInText;
    masked += isInText && character !== '"' ? "x" : character;
    if (isInText && character === "\\" && at + 1 < line.length) {
      masked += "x";
      at += 1;
    }
  }
  return masked;
}

function parse(line: string): JsonObject | undefined {
  try {
    const message = parseJson(line);
    return typeof message === "object" && message !== null && !Array.isArray(message) ? message : undefined;
  } catch {
    // A line that is not JSON was rejected, and is rejected again in a replay.
    return undefined;
  }
}
