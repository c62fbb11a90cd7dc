// A map from ids to short-lived values: calls in flight, the last answers.
//
// Why not Map: V8 keeps each outgrown table of a Map linked to the next, so once one of them has reached the old
// generation, every later table is kept alive with all its values until a full collection. With an entry added and
// removed per call, that made the garbage collector a third of the cost of a call (bench `direct`).

/** A place in the table. Who holds it can change or remove it without looking it up again. */
export interface IdEntry<Value> {
  readonly id: string;
  readonly hash: number;
  value: Value;
  next: IdEntry<Value> | undefined;
}

export class IdTable<Value> {
  /** Allocated with the first entry: many tables never have any. */
  #buckets: (IdEntry<Value> | undefined)[] = noBuckets;
  #size = 0;
  /** Who adds an id has mostly just looked for it. */
  #lastId = "";
  #lastHash = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): Value | undefined {
    return this.#find(id, this.#hash(id))?.value;
  }

  /** Adds an id, or changes the value of an existing id. */
  set(id: string, value: Value): IdEntry<Value> {
    const known = this.#find(id, this.#hash(id));
    if (known === undefined) return this.add(id, value);
    known.value = value;
    return known;
  }

  /** Adds an id that the table surely does not have. */
  add(id: string, value: Value): IdEntry<Value> {
    const hash = this.#hash(id);
    if (this.#buckets === noBuckets) this.#buckets = new Array(8).fill(undefined);
    const index = hash & (this.#buckets.length - 1);
    const entry: IdEntry<Value> = { id, hash, value, next: this.#buckets[index] };
    this.#buckets[index] = entry;
    this.#size += 1;
    if (this.#size > this.#buckets.length) this.#grow();
    return entry;
  }

  /** Removes the entry; removing it twice is allowed. */
  remove(entry: IdEntry<Value>): void {
    const index = entry.hash & (this.#buckets.length - 1);
    let previous: IdEntry<Value> | undefined;
    for (let at = this.#buckets[index]; at !== undefined; previous = at, at = at.next) {
      if (at !== entry) continue;
      if (previous === undefined) this.#buckets[index] = at.next;
      else previous.next = at.next;
      this.#size -= 1;
      return;
    }
  }

  /** In no particular order; a copy, so that the table may change while it is walked. */
  values(): Value[] {
    const values: Value[] = [];
    for (let entry of this.#buckets) for (; entry !== undefined; entry = entry.next) values.push(entry.value);
    return values;
  }

  #hash(id: string): number {
    if (id !== this.#lastId) {
      this.#lastId = id;
      this.#lastHash = hashOf(id);
    }
    return this.#lastHash;
  }

  #find(id: string, hash: number): IdEntry<Value> | undefined {
    for (let entry = this.#buckets[hash & (this.#buckets.length - 1)]; entry !== undefined; entry = entry.next) {
      if (entry.hash === hash && entry.id === id) return entry;
    }
    return undefined;
  }

  #grow(): void {
    const old = this.#buckets;
    this.#buckets = new Array(old.length * 2).fill(undefined);
    for (let entry of old) {
      while (entry !== undefined) {
        const next: IdEntry<Value> | undefined = entry.next;
        const index = entry.hash & (this.#buckets.length - 1);
        entry.next = this.#buckets[index];
        this.#buckets[index] = entry;
        entry = next;
      }
    }
  }
}

/** Shared by all empty tables; never written. */
const noBuckets: undefined[] = [undefined];

/**
 * Hashes the last eight characters, since ids count up at their end, and about four characters spread over the rest,
 * for ids that do not. Hashing every character of a typical id was a tenth of the cost of a call (bench `direct`). A
 * peer that makes ids collide slows down only itself.
 */
function hashOf(id: string): number {
  const tail = Math.max(0, id.length - 8);
  const step = Math.max(1, tail >> 2);
  let hash = id.length;
  for (let index = 0; index < tail; index += step) hash = (hash * 31 + id.charCodeAt(index)) | 0;
  for (let index = tail; index < id.length; index++) hash = (hash * 31 + id.charCodeAt(index)) | 0;
  return hash;
}
