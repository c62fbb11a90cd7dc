// What every message carries, whatever it means.
import type { JsonValue } from "./json.ts";

export const protocolVersion = "1.0";

/** A message as it travels. `a2e` and `version` say the same: peers of either dialect find the one they read. */
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
  const prefix = random80BitHex();
  let counter = 0;
  let block = "";
  return () => {
    // One table look-up per id; the digits above it change once in 256.
    const low = counter & 0xff;
    if (low === 0)
      block =
        prefix +
        Math.floor(counter / 0x100)
          .toString(16)
          .padStart(10, "0");
    counter += 1;
    return block + byteHex[low];
  };
}

/** Ids for whoever needs no source of its own: drawing randomness for each of many clients would cost more than the rest of them. */
export const nextProcessId: IdSource = (() => {
  let source: IdSource | undefined;
  return () => {
    source ??= createIdSource();
    return source();
  };
})();

const byteHex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function random80BitHex(): string {
  let hex = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(10))) hex += byteHex[byte];
  return hex;
}

/** False only for another major version: an unknown minor is by definition compatible, a missing one is tolerated. */
export function isCompatibleVersion(version: unknown): boolean {
  if (version === undefined || version === null || version === "") return true;
  // Nothing else is made text of: an object from the wire may have a `toString` that is no function.
  if (typeof version !== "string" && typeof version !== "number") return false;
  const major = String(version).split(".", 1)[0];
  return major === protocolVersion.split(".", 1)[0];
}
