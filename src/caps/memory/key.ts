// Keys of entries: a string or an object, in a canonical form in which equal keys are equal strings.
import { isJsonObject, type JsonObject, type JsonValue } from "../../protocol/json.ts";

export type Key = string | JsonObject;

/**
 * JSON with sorted field names. JSON text is always well-formed Unicode, so keys with different lone surrogates stay
 * different in a database, which would replace them. A string key is short for the object `{"key": string}`.
 */
export function canonicalKey(key: Key): string {
  return typeof key === "string" ? `{"key":${JSON.stringify(key)}}` : canonicalJson(key);
}

export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue)}`);
  return `{${fields.join(",")}}`;
}

/** The key as answers contain it: always an object, since the Python SDK drops an answer with any other key. */
export function toWireKey(canonical: string): { key: JsonObject; key_text: string } {
  const key = JSON.parse(canonical) as JsonObject;
  const isText = typeof key.key === "string" && Object.keys(key).length === 1;
  return { key, key_text: isText ? (key.key as string) : canonical };
}

/** Like `toWireKey`, for a key as it was sent. */
export function keyToWire(key: Key): { key: JsonObject; key_text: string } {
  return typeof key === "string" ? { key: { key }, key_text: key } : toWireKey(canonicalKey(key));
}

/** Whether the key cannot be distinguished from a missing key. */
export function isEmptyKey(key: Key): boolean {
  return typeof key === "string" ? key === "" : Object.keys(key).length === 0 || canonicalKey(key) === '{"key":""}';
}
