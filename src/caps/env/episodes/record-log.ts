// An append-only list in the state of a session, so records survive a restart and are part of snapshots and forks. It
// is stored in chunks of 32: one growing value would be rewritten with every record.
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import type { JsonValue } from "../../../protocol/json.ts";

const chunkSize = 32;

type Index = {
  /** Number of the oldest chunk. */
  first: number;
  /** Number of the next record. */
  next: number;
};

export class RecordLog<Item extends object> {
  readonly #state: SessionState;
  readonly #name: string;
  readonly #max: number;
  #index: Index;
  #chunk: Item[];

  /**
   * Stores the newest `max` records. The keys are local to a session: chunks of a fork cannot be merged key by key.
   */
  constructor(state: SessionState, name: string, max: number) {
    this.#state = state;
    this.#name = `${localPrefix}${name}`;
    this.#max = max;
    this.#index = { ...((state.get(this.#name) as Index | undefined) ?? { first: 0, next: 0 }) };
    this.#chunk = [...this.#chunkAt(this.#lastChunk)];
  }

  /** Every number from `oldest` up to, but not including, `next` has a record. */
  get oldest(): number {
    return Math.max(this.#index.first * chunkSize, this.#index.next - this.#max);
  }

  get next(): number {
    return this.#index.next;
  }

  at(number: number): Item | undefined {
    const chunk = Math.floor(number / chunkSize);
    return (chunk === this.#lastChunk ? this.#chunk : this.#chunkAt(chunk))[number % chunkSize];
  }

  /** Appends a record and returns its number. */
  add(item: Item): number {
    const number = this.#index.next;
    const key = this.#keyOf(this.#lastChunk);
    this.#chunk.push(item);
    this.#index.next += 1;
    if (this.#chunk.length < chunkSize) {
      const chunk = this.#chunk;
      this.#state.setLive(key, () => [...chunk] as unknown as JsonValue);
    } else {
      this.#state.set(key, this.#chunk as unknown as JsonValue);
      this.#chunk = [];
    }
    while (this.#index.next - this.#index.first * chunkSize >= this.#max + chunkSize) {
      this.#state.delete(this.#keyOf(this.#index.first));
      this.#index.first += 1;
    }
    this.#state.setLive(this.#name, () => ({ ...this.#index }));
    return number;
  }

  /** Notes in a fork which records it inherited. A fork without this note owns all of its records. */
  fork(forked: SessionState): void {
    if (this.#index.next > 0) forked.set(this.#takenKey, this.#index.next);
  }

  /** Returns the records that a fork has added since the last call for that fork. */
  takeFrom(fork: SessionState): { number: number; item: Item }[] {
    const log = new RecordLog<Item>(fork, this.#name.slice(localPrefix.length), this.#max);
    const first = (fork.get(this.#takenKey) as number | undefined) ?? 0;
    const taken: { number: number; item: Item }[] = [];
    for (let number = Math.max(first, log.oldest); number < log.next; number++) {
      const item = log.at(number);
      if (item !== undefined) taken.push({ number, item });
    }
    if (taken.length > 0) fork.set(this.#takenKey, log.next);
    return taken;
  }

  /** The fork stores here the number of its first own record that was not merged yet. */
  get #takenKey(): string {
    return `${this.#name}:own`;
  }

  #chunkAt(chunk: number): readonly Item[] {
    return (this.#state.get(this.#keyOf(chunk)) as unknown as Item[] | undefined) ?? [];
  }

  get #lastChunk(): number {
    return Math.floor(this.#index.next / chunkSize);
  }

  #keyOf(chunk: number): string {
    return `${this.#name}/${chunk}`;
  }
}
