// JSON as this protocol uses it: tolerant in, strict out, and copies that nobody can reach through.
import * as z from "zod";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

// Zod builds fresh objects and arrays for all that a table declares; the two free-form types below copy as well. So
// whatever passed a table is a value that nobody else holds, whichever transport it came by, and surely JSON.

/** Free-form JSON object. The copy is what must be an object: a Date is one before it is copied, and text afterwards. */
export const jsonObject = z
  .custom<JsonObject>()
  .overwrite(copyJson)
  .refine(isJsonObject, "expected an object")
  .meta({ type: "object" });

/** Any JSON value. */
export const jsonValue = z
  .custom<JsonValue>()
  .overwrite(copyJson)
  .refine((copy) => copy !== undefined, "expected a JSON value")
  .meta({});

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Parses JSON text, also with the three tokens that Python's encoder writes and JSON forbids: `NaN`, `Infinity` and
 * `-Infinity` become null. Throws SyntaxError on anything else. An own `__proto__` key never survives.
 */
export function parseJson(text: string): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (cause) {
    const repaired = withoutNonFiniteTokens(text);
    if (repaired === undefined) throw cause;
    value = JSON.parse(repaired) as JsonValue;
  }
  // Escapes may spell the key as well (`__pr\u006fto__`); where there are none, the plain search is the fast one.
  if (text.includes("__proto__") || (text.includes("\\u00") && spelledPrototype.test(text))) removePrototypeKeys(value);
  return value;
}

const spelledPrototype = new RegExp(
  Array.from("__proto__", (letter) => `(?:${letter}|\\\\u00${letter.charCodeAt(0).toString(16)})`).join(""),
  "i",
);

/** Walks with a stack of its own: the text may nest deeper than calls can. */
function removePrototypeKeys(root: JsonValue): void {
  const open: JsonValue[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (Object.hasOwn(value, "__proto__")) Reflect.deleteProperty(value, "__proto__");
    for (const item of Object.values(value)) open.push(item);
  }
}

const stringEdgeOrNonFinite = /\\[\s\S]|"|-?\bInfinity\b|\bNaN\b/g;

/** One pass whatever the text: a pattern for whole strings would try each quote of an unfinished one again to the end. */
function withoutNonFiniteTokens(text: string): string | undefined {
  if (!text.includes("NaN") && !text.includes("Infinity")) return undefined;
  let isInString = false;
  return text.replace(stringEdgeOrNonFinite, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' || token.startsWith("\\") ? token : "null";
  });
}

/** Writes compact JSON. What JSON cannot say (NaN, infinities) becomes null, undefined fields vanish: strict output. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value);
}

/** True where nesting goes deeper than `limit`; walks containers only and never deeper than the limit itself. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit <= 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && isDeeperThan(item, limit - 1)) return true;
    return false;
  }
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (typeof item === "object" && isDeeperThan(item, limit - 1)) return true;
  }
  return false;
}

/** Deeper than any message that a host takes, far from the end of the stack. */
const maxCopyDepth = 256;

/**
 * A deep copy with exactly what JSON text would have carried. Throws TypeError on what has no JSON form at all: cycles,
 * BigInt. Several times cheaper than structuredClone or a JSON round trip for a message of usual size (bench `direct`).
 */
export function copyJson<Value>(value: Value): Value {
  return copyValue(value, maxCopyDepth) as Value;
}

function copyValue(value: unknown, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      // Adding nothing turns -0 into 0, as JSON text does.
      return Number.isFinite(value) ? (value as number) + 0 : null;
    case "object":
      return value === null ? null : copyContainer(value, depth);
    case "bigint":
      throw new TypeError("a BigInt has no JSON form");
    default:
      return undefined;
  }
}

function copyContainer(value: object, depth: number): unknown {
  if (depth <= 0) throw new TypeError("value is cyclic or nested too deeply");
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== "function") return copyFields(value, depth);
  const converted: unknown = toJSON.call(value, "");
  // What toJSON returns is taken as it is, even if it has a toJSON of its own.
  return typeof converted === "object" && converted !== null
    ? copyFields(converted, depth)
    : copyValue(converted, depth);
}

/** As Object.hasOwn, which takes much longer in a loop over keys. */
const isOwn = Object.prototype.hasOwnProperty;

function copyFields(value: object, depth: number): unknown {
  if (Array.isArray(value)) {
    const copy = new Array<unknown>(value.length);
    for (let index = 0; index < value.length; index++) copy[index] = copyValue(value[index], depth - 1) ?? null;
    return copy;
  }
  // Plain objects are nearly all there are; the rest is asked what it is.
  if (Object.getPrototypeOf(value) !== Object.prototype && isBoxed(value)) return copyValue(value.valueOf(), depth - 1);
  const copy: Record<string, unknown> = {};
  // Without a list of the keys, which would be thrown away.
  for (const key in value) {
    // Assigning to `__proto__` would replace the prototype instead of adding a field.
    if (key === "__proto__" || !isOwn.call(value, key)) continue;
    const item = copyValue((value as Record<string, unknown>)[key], depth - 1);
    if (item !== undefined) copy[key] = item;
  }
  return copy;
}

function isBoxed(value: object): boolean {
  return value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt;
}

const nonAscii = /[\u007f-\uffff]/g;

/** The same JSON in ASCII alone: some readers decode SSE as Latin-1 or cut lines at U+2028 (docs/reference/dialects.md). */
export function escapeNonAscii(json: string): string {
  return json.replace(nonAscii, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
