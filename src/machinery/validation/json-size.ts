// How large JSON would be, without writing it.
import { defaultLimits } from "../../protocol/limits.ts";

/**
 * True if the JSON of a value is longer than `maxBytes` or nests too deeply, as a cycle does; stops as soon as that is
 * certain.
 */
export function isLargerThan(value: unknown, maxBytes: number): boolean {
  // Most values are far below: an upper bound from text lengths is enough, without counting the bytes of each text,
  // which is slow.
  return measure(value, maxBytes, maxDepth, false) < 0 && measure(value, maxBytes, maxDepth, true) < 0;
}

/**
 * The rest of `budget` after a value; negative as soon as it is used up. Text counts as UTF-8; escapes are not
 * counted.
 */
export function remainingBytes(value: unknown, budget: number): number {
  return measure(value, budget, maxDepth, true);
}

const { maxDepth } = defaultLimits;

function measure(value: unknown, budget: number, depth: number, isExact: boolean): number {
  switch (typeof value) {
    case "string":
      return budget - 2 - textBytes(value, budget, isExact);
    case "number":
      return budget - 8;
    case "object":
      break;
    default:
      return budget - 5;
  }
  if (value === null) return budget - 4;
  if (depth === 0) return -1;
  let left = budget - 2;
  if (ArrayBuffer.isView(value)) return left - value.byteLength;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index++)
      left = measure(value[index], left - 1, depth - 1, isExact);
    return left;
  }
  for (const key in value) {
    if (left < 0) break;
    const rest = left - textBytes(key, left, isExact) - 4;
    left = measure((value as Record<string, unknown>)[key], rest, depth - 1, isExact);
  }
  return left;
}

/** Bytes of a text as UTF-8, counted only if there may be room for it; or the maximum for a text of its length. */
function textBytes(text: string, budget: number, isExact: boolean): number {
  if (!isExact) return text.length * 3;
  return text.length > budget ? text.length : Buffer.byteLength(text);
}

/** The longest beginning of a text that takes at most `maxBytes` as UTF-8 and cuts no character in two. */
export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes), "utf8");
  if (bytes.length <= maxBytes && text.length <= maxBytes) return text;
  let end = Math.min(maxBytes, bytes.length);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}
