/** Scales a vector to length 1, so that the dot product of two is their cosine. */
export function toUnitVector(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return Number.isFinite(length) && length > 0
    ? vector.map((value) => value / length)
    : new Float32Array(vector.length);
}

/** The cosine of two unit vectors, the second as stored bytes. Returns 0 if it is negative or their lengths differ. */
export function similarity(vector: Float32Array, stored: Uint8Array): number {
  if (stored.byteLength !== vector.byteLength) return 0;
  // A Float32Array needs aligned bytes, and those of a row may not be aligned.
  const bytes = stored.byteOffset % 4 === 0 ? stored : stored.slice();
  const other = new Float32Array(bytes.buffer, bytes.byteOffset, vector.length);
  let product = 0;
  for (let index = 0; index < vector.length; index++) product += (vector[index] as number) * (other[index] as number);
  return Math.min(1, Math.max(0, product));
}
