// SHA-256 in plain TypeScript: proofs are checked synchronously, and browsers have only an asynchronous hash. On the host,
// src/audit uses the hash of Node, which is several times as fast.
import type { Hash } from "./merkle.ts";

/** The first 32 bits of the fractional parts of the square and cube roots of the first primes (FIPS 180-4). */
const primes = firstPrimes(64);
const initial = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const constants = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));

const blockBytes = 64;

export const sha256: Hash = (bytes) => {
  const state = Uint32Array.from(initial);
  const padded = pad(bytes);
  const schedule = new Uint32Array(64);
  for (let offset = 0; offset < padded.byteLength; offset += blockBytes) compress(state, padded, offset, schedule);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => {
    digest.setUint32(4 * index, word);
  });
  return new Uint8Array(digest.buffer);
};

/** The bytes, one bit, zeros, and the length in bits. */
function pad(bytes: Uint8Array): DataView {
  const length = Math.ceil((bytes.length + 9) / blockBytes) * blockBytes;
  const padded = new Uint8Array(length);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(length - 4, bytes.length << 3);
  return view;
}

function compress(state: Uint32Array, block: DataView, offset: number, w: Uint32Array): void {
  const at = (index: number) => w[index] as number;
  for (let index = 0; index < 16; index++) w[index] = block.getUint32(offset + 4 * index);
  for (let index = 16; index < 64; index++) {
    const [x, y] = [at(index - 15), at(index - 2)];
    const small0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const small1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w[index] = at(index - 16) + small0 + at(index - 7) + small1;
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let index = 0; index < 64; index++) {
    const big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const first = (h + big1 + ((e & f) ^ (~e & g)) + (constants[index] as number) + at(index)) | 0;
    const big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const second = (big0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] as number) + word;
  });
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++)
    if (found.every((prime) => number % prime !== 0)) found.push(number);
  return found;
}
