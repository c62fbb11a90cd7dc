// Standard base64 with padding, in Node and in browsers. Decoding is strict: one text for each sequence of bytes.

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Undefined if the text is not exactly what `toBase64` returns for some bytes. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  let decoded: string;
  try {
    decoded = atob(text);
  } catch {
    return undefined;
  }
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0));
  // The last character may have bits that belong to no byte: two texts would stand for the same bytes.
  return text.length > 0 && toBase64(bytes.subarray(bytes.length - (bytes.length % 3 || 3))) !== text.slice(-4)
    ? undefined
    : bytes;
}

export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
