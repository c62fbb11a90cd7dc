// Random numbers that a seed reproduces bit for bit on every machine. The generator is sfc32: small, fast, and its
// whole state is four integers, which are saved with an episode. Do not use it for secrets.

export type RandomState = readonly [number, number, number, number];

export class SeededRandom {
  #a = 0;
  #b = 0;
  #c = 0;
  #counter = 1;
  // The state at the last `hold`.
  #heldA = 0;
  #heldB = 0;
  #heldC = 0;
  #heldCounter = 1;

  /** Every safe integer gives a different sequence. */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 0x1_0000_0000) >>> 0;
    this.#c = 0x9e3779b9;
    // After a dozen rounds, seeds that differ in one bit have unrelated states.
    for (let round = 0; round < 12; round++) this.#next32();
  }

  static from(state: RandomState): SeededRandom {
    const random = new SeededRandom(0);
    random.state = state;
    return random;
  }

  get state(): RandomState {
    return [this.#a, this.#b, this.#c, this.#counter];
  }

  set state([a, b, c, counter]: RandomState) {
    this.#a = a >>> 0;
    this.#b = b >>> 0;
    this.#c = c >>> 0;
    this.#counter = counter >>> 0;
  }

  /** Stores the current state for `rewind`. In fields and not in an array, since the host calls it with every step. */
  hold(): void {
    this.#heldA = this.#a;
    this.#heldB = this.#b;
    this.#heldC = this.#c;
    this.#heldCounter = this.#counter;
  }

  /** Restores the state of the last `hold`. */
  rewind(): void {
    this.state = this.held;
  }

  get held(): RandomState {
    return [this.#heldA, this.#heldB, this.#heldC, this.#heldCounter];
  }

  /** A number from 0 up to, but not including, 1, with 53 random bits. */
  next(): number {
    return ((this.#next32() >>> 5) * 0x400_0000 + (this.#next32() >>> 6)) / 0x20_0000_0000_0000;
  }

  /** A whole number from 0 up to, but not including, `bound`. */
  integer(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** Normally distributed around 0 with deviation 1. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }

  #next32(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) >>> 0;
    this.#c = (this.#c + sum) >>> 0;
    return sum;
  }
}
