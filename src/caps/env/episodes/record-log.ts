// Records that are only ever added, kept in a session's state: so they survive a restart, are part of its snapshots, and
// a fork has them too. Written in chunks, since a value that grew with each record would be written again with each.
import { localPrefix, type SessionState } from "../../../host/session/session-state.ts";
import type { JsonValue } from "../../../protocol/json.ts";

const chunkSize = 32;

type Index = {
  /** Number of the oldest chunk. */
  first: number;
  /** Number of the record that comes next. */
  next: number;
};

export class RecordLog<Item extends object> {
  readonly #state: SessionState;
  readonly #name: string;
  readonly #max: number;
  #index: Index;
  #chunk: Item[];

  /** Keeps the newest `max`. Not merged key by key: chunks of two sessions do not fit together. */
  constructor(state: SessionState, name: string, max: number) {
    this.#state = state;
    this.#name = `${localPrefix}${name}`;
    this.#max = max;
    this.#index = { ...((state.get(this.#name) as Index | undefined) ?? { first: 0, next: 0 }) };
    this.#chunk = [...this.#chunkAt(this.#lastChunk)];
  }

  /** From `oldest` on, up to but not including `next`, each number has a record. */
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

  /** The number of the record. */
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

  /** Lets a fork know what is its own; all of it, where there is nothing yet. */
  fork(forked: SessionState): void {
    if (this.#index.next > 0) forked.set(this.#takenKey, this.#index.next);
  }

  /** What a fork has added since it was last asked. */
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

  /** Under which a fork has the number of the first record that is its own and was not taken over yet. */
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
