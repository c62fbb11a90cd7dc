// The only cryptography of narrowed tokens. Synchronous in Node and in browsers, which `crypto.subtle` is not.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** HMAC-SHA-256. A host may pass the one of `node:crypto` instead, which computes the same bytes. */
export type Hmac = (key: Uint8Array, message: Uint8Array) => Uint8Array;

export const hmacSha256: Hmac = (key, message) => hmac(sha256, key, message);
