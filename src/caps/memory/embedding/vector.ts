/** Of length one, so that the product of two is their cosine. */
export function toUnitVector(vector: Float32Array): Float32Array {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  return Number.isFinite(length) && length > 0
    ? vector.map((value) => value / length)
    : new Float32Array(vector.length);
}

/** The cosine of two unit vectors, the second as it was stored; 0 where they point apart or have different lengths. */
export function similarity(vector: Float32Array, stored: Uint8Array): number {
  if (stored.byteLength !== vector.byteLength) return 0;
  // A view needs aligned bytes, which those of a row need not be.
  const bytes = stored.byteOffset % 4 === 0 ? stored : stored.slice();
  const other = new Float32Array(bytes.buffer, bytes.byteOffset, vector.length);
  let product = 0;
  for (let index = 0; index < vector.length; index++) product += (vector[index] as number) * (other[index] as number);
  return Math.min(1, Math.max(0, product));
}
