// Fingerprints under which the stores keep and check things.
import { createHash } from "node:crypto";

/**
 * A name for any key: hex of fixed length, safe as a file name and as SQL text. The digest is taken over UTF-16,
 * because UTF-8 maps every lone surrogate to the same replacement character, and SQLite ends a text at NUL.
 */
export function digestOfKey(key: string): string {
  return createHash("sha256").update(key, "utf16le").digest("hex");
}

/** Of a stored text, so that a flipped bit in it is noticed. */
export function digestOfText(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
