// Keys of entries: a text or an object, in one form in which the same key is the same text.
import { isJsonObject, type JsonObject, type JsonValue } from "../../protocol/json.ts";

export type Key = string | JsonObject;

/**
 * JSON with sorted field names. JSON text is always well-formed Unicode, so keys that differ only in what a database
 * would replace (lone surrogates) stay different. A text key is short for the object in which it is answered.
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

/** What answers carry: an object, since a peer on the Python SDK drops the whole answer over anything else. */
export function toWireKey(canonical: string): { key: JsonObject; key_text: string } {
  const key = JSON.parse(canonical) as JsonObject;
  const isText = typeof key.key === "string" && Object.keys(key).length === 1;
  return { key, key_text: isText ? (key.key as string) : canonical };
}

/** The same from the key as it was given. */
export function keyToWire(key: Key): { key: JsonObject; key_text: string } {
  return typeof key === "string" ? { key: { key }, key_text: key } : toWireKey(canonicalKey(key));
}

/** Nothing that could be told apart from a key that was left out. */
export function isEmptyKey(key: Key): boolean {
  return typeof key === "string" ? key === "" : Object.keys(key).length === 0 || canonicalKey(key) === '{"key":""}';
}
