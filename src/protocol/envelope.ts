// The fields that every message carries.
import type { JsonValue } from "./json.ts";

export const protocolVersion = "1.0";

/** A message on the wire. `a2e` and `version` have the same value: peers of either dialect find the field they read. */
export interface Message {
  type: string;
  id: string;
  a2e?: string;
  version?: string;
  /** Seconds since 1970, as a float. */
  ts?: number;
  req_id?: string;
  [field: string]: JsonValue | undefined;
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** Returns an id that no other call returns: 32 hexadecimal digits. */
export type IdSource = () => string;

export const systemClock: Clock = { now: () => Date.now() };

/** Half random, half counter: as unique as a random id within a process's life, at a tenth of the cost. */
export function createIdSource(): IdSource {
  const codes = codesOf(`${random80BitHex()}000000000000`);
  return () => {
    // Not the concatenation of two strings: V8 would flatten it into a copy on first use, and every id is used.
    const id = String.fromCharCode(...codes);
    let last = codes.length - 1;
    for (; codes[last] === codeOfF; last--) codes[last] = codeOf0 as number;
    codes[last] = codes[last] === codeOf9 ? (codeOfA as number) : (codes[last] as number) + 1;
    return id;
  };
}

const codesOf = (text: string) => Array.from(text, (character) => character.charCodeAt(0));
const [codeOf0, codeOf9, codeOfA, codeOfF] = codesOf("09af");

/**
 * Ids for callers without a source of their own: drawing random bytes for each of many clients would cost more than
 * the rest of their creation.
 */
export const nextProcessId: IdSource = (() => {
  let source: IdSource | undefined;
  return () => {
    source ??= createIdSource();
    return source();
  };
})();

function random80BitHex(): string {
  let hex = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(10))) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

/**
 * False only for another major version: an unknown minor version is compatible by definition, a missing one is
 * tolerated.
 */
export function isCompatibleVersion(version: unknown): boolean {
  if (version === undefined || version === null || version === "") return true;
  // No other type is converted to text: an object from the wire may have a `toString` that is not a function.
  if (typeof version !== "string" && typeof version !== "number") return false;
  const major = String(version).split(".", 1)[0];
  return major === protocolVersion.split(".", 1)[0];
}
