// Bytes in JSON: as text if they are UTF-8, otherwise as base64.
import { isUtf8 } from "node:buffer";

export type Encoded = { text: string; base64?: undefined } | { text?: undefined; base64: string };

export function encodeBytes(bytes: Buffer): Encoded {
  return isUtf8(bytes) ? { text: bytes.toString("utf8") } : { base64: bytes.toString("base64") };
}

/** The number of bytes at the end that begin an incomplete character: 0 to 3. */
export function incompleteTail(bytes: Uint8Array): number {
  const { length } = bytes;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back] as number;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return characterLength(byte) > back ? back : 0;
  }
  return 0;
}

/** The length by the first byte; 1 for a byte that cannot begin a character. */
function characterLength(first: number): number {
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  return first >= 0xf0 && first <= 0xf4 ? 4 : 1;
}
