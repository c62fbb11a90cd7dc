// JSON as this protocol uses it: tolerant input, strict output, and copies that share no object with the original.
import * as z from "zod";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

// Zod creates new objects and arrays for all declared fields; the two free-form types below copy as well. A value that
// passed a table is therefore not shared with any other code, for every transport, and is certainly JSON.

/**
 * Free-form JSON object. The check applies to the copy: a Date is an object before it is copied, and text afterwards.
 */
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
  // The key may also be spelled with escapes (`__pr\u006fto__`); without escapes the plain search is faster.
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

/**
 * A single pass for any text: a regular expression for whole strings would scan an unfinished string to the end for
 * each of its quotes.
 */
function withoutNonFiniteTokens(text: string): string | undefined {
  if (!text.includes("NaN") && !text.includes("Infinity")) return undefined;
  let isInString = false;
  return text.replace(stringEdgeOrNonFinite, (token) => {
    if (token === '"') isInString = !isInString;
    return isInString || token === '"' || token.startsWith("\\") ? token : "null";
  });
}

/**
 * Writes compact, strict JSON. Values that JSON cannot represent (NaN, infinities) become null, and undefined fields
 * are left out.
 */
export function writeJson(value: unknown): string {
  return JSON.stringify(value);
}

/** True if nesting is deeper than `limit`; visits containers only and never goes deeper than the limit itself. */
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
 * A deep copy with exactly the data that JSON text would carry. Throws TypeError on a value without a JSON form:
 * cycles, BigInt. Several times cheaper than structuredClone or a JSON round trip for a typical message (bench
 * `direct`).
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
      // Adding 0 turns -0 into 0, as JSON text does.
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
  // The result of toJSON is used as it is, even if it has a toJSON of its own.
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
  // Nearly all objects are plain; only the others are checked for boxed values.
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
