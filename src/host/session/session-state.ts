// What a plugin keeps for one session: JSON values by key. Kept in layers, so that a fork copies nothing: both sessions
// go on in a layer of their own above what they share. Written to the journal with the answer of the request that
// changed it, or not at all.
import type { JsonValue } from "../../protocol/json.ts";

/** Marks a key that the layers below have and this one does not. */
const deleted = Symbol("deleted");
type Slot = JsonValue | typeof deleted;
type Layer = ReadonlyMap<string, Slot>;

/** A change to write: undefined stands for a deletion. */
export interface StateChange {
  readonly key: string;
  readonly value: JsonValue | undefined;
}

/** Looking a key up takes a step per layer: one that is not so many times as large as the next above is put together with it. */
const minGrowth = 2;

export class SessionState {
  /** Shared with forks and snapshots, oldest first: never written to again. */
  #below: readonly Layer[];
  #top = new Map<string, Slot>();
  /** What a fork began with: its changes are what differs from this. */
  readonly #ground: readonly Layer[];
  /** Values that are costly to write down and change often: computed when somebody needs them. */
  readonly #live = new Map<string, () => JsonValue | undefined>();
  /** Keys changed since the journal last had them; undefined where nothing is journalled. */
  #changed: Set<string> | undefined;
  #onChange: (() => void) | undefined;

  constructor(below: readonly Layer[] = [], ground = below) {
    this.#below = below;
    this.#ground = ground;
  }

  /**
   * A state whose layers were stored: undefined stands for a key that a layer took away. The first `groundCount` of them
   * are those that a fork began with.
   */
  static fromLayers(layers: readonly ReadonlyMap<string, JsonValue | undefined>[], groundCount = 0): SessionState {
    const slots = layers.map((layer) => new Map(Array.from(layer, ([key, value]) => [key, toSlot(value)] as const)));
    const state = new SessionState(slots.slice(0, -1), slots.slice(0, groundCount));
    state.#top = new Map(slots.at(-1) ?? []);
    return state;
  }

  /** Values belong to the state once set: whoever sets one must not change it afterwards. */
  get(key: string): JsonValue | undefined {
    const live = this.#live.get(key);
    if (live !== undefined) return live();
    const own = this.#top.get(key);
    if (own !== undefined) return own === deleted ? undefined : own;
    return find(this.#below, key);
  }

  set(key: string, value: JsonValue): void {
    // It would be gone after a restore: no JSON that the host reads keeps it.
    if (key === "__proto__") throw new TypeError('a state has no key "__proto__"');
    this.#live.delete(key);
    this.#top.set(key, value);
    this.#note(key);
  }

  /**
   * Says that the value of a key has changed and how to get it, or that there is none after all: called when it is
   * written, saved or forked.
   */
  setLive(key: string, read: () => JsonValue | undefined): void {
    this.#live.set(key, read);
    this.#note(key);
  }

  delete(key: string): void {
    this.#live.delete(key);
    if (this.#below.length === 0) this.#top.delete(key);
    else this.#top.set(key, deleted);
    this.#note(key);
  }

  /** All keys with their values, in no particular order. */
  *entries(): Generator<[string, JsonValue]> {
    const seen = new Set<string>();
    for (const [key, read] of this.#live) {
      seen.add(key);
      const value = read();
      if (value !== undefined) yield [key, value];
    }
    for (const layer of [this.#top, ...this.#below.toReversed()]) {
      for (const [key, slot] of layer) {
        if (seen.has(key)) continue;
        seen.add(key);
        if (slot !== deleted) yield [key, slot];
      }
    }
  }

  get isEmpty(): boolean {
    return this.#live.size === 0 && this.entries().next().done === true;
  }

  /** A state of its own that begins as this one is now. Costs the number of live values, not that of all. */
  fork(): SessionState {
    this.#freeze();
    const forked = new SessionState(this.#below);
    // What is prepared for the fork before anybody tracks it must be written all the same.
    forked.#changed = new Set();
    return forked;
  }

  /** Keys that this state changed since it was forked, with what they held then and now. */
  *changesSinceFork(): Generator<{ key: string; before: JsonValue | undefined; after: JsonValue | undefined }> {
    this.#freeze();
    const keys = new Set(
      this.#below.filter((layer) => !this.#ground.includes(layer)).flatMap((layer) => [...layer.keys()]),
    );
    for (const key of keys) yield { key, before: find(this.#ground, key), after: this.get(key) };
  }

  /** Puts the state back to entries that were saved. */
  replace(entries: Iterable<readonly [string, JsonValue]>): void {
    const fresh = new Map<string, Slot>(entries);
    for (const [key] of [...this.entries()]) if (!fresh.has(key)) this.#note(key);
    for (const key of fresh.keys()) this.#note(key);
    this.#live.clear();
    // A fork stands on its ground for as long as it lives: what is there and was not saved is taken away above it.
    for (const layer of this.#ground) for (const key of layer.keys()) if (!fresh.has(key)) fresh.set(key, deleted);
    this.#below = this.#ground;
    this.#top = fresh;
  }

  /** From now on changes are collected, and `onChange` is called when there is a first one to take. */
  track(onChange: () => void): void {
    this.#changed ??= new Set();
    this.#onChange = onChange;
    if (this.#changed.size > 0) onChange();
  }

  /** The changes since the last time. */
  takeChanges(): StateChange[] {
    if (this.#changed === undefined || this.#changed.size === 0) return [];
    const changes = [...this.#changed].map((key) => ({ key, value: this.get(key) }));
    this.#changed.clear();
    return changes;
  }

  #note(key: string): void {
    if (this.#changed === undefined) return;
    const isFirst = this.#changed.size === 0;
    this.#changed.add(key);
    if (isFirst) this.#onChange?.();
  }

  #freeze(): void {
    for (const [key, read] of this.#live) this.#top.set(key, toSlot(read()));
    if (this.#top.size === 0) return;
    this.#below = [...this.#ground, ...condense([...this.#below.slice(this.#ground.length), this.#top])];
    this.#top = new Map();
    this.#live.clear();
  }
}

/** Null is a value like others. */
function toSlot(value: JsonValue | undefined): Slot {
  return value === undefined ? deleted : value;
}

function find(layers: readonly Layer[], key: string): JsonValue | undefined {
  for (let index = layers.length - 1; index >= 0; index--) {
    const slot = layers[index]?.get(key);
    if (slot !== undefined) return slot === deleted ? undefined : slot;
  }
  return undefined;
}

/**
 * The same in fewer layers. Small ones at the top are put together and large ones below left alone, so that there are
 * few of them, and what was there before a change is not copied for it.
 */
function condense(layers: readonly Layer[]): Layer[] {
  const condensed: Layer[] = [];
  for (let layer of layers) {
    for (
      let below = condensed.at(-1);
      below !== undefined && below.size < minGrowth * layer.size;
      below = condensed.at(-1)
    ) {
      condensed.pop();
      layer = new Map([...below, ...layer]);
    }
    condensed.push(layer);
  }
  return condensed;
}

/** Keys that begin so are about this one session, as the name of its overlay is: merging leaves them alone. */
export const localPrefix = "local:";

/** Where a fork has what of a key was last merged: nothing, in an empty list, for one that was taken away. */
const mergedPrefix = `${localPrefix}merged/`;

/**
 * Applies what a fork changed to the state it came from, where that has not changed the same key itself: it has not where
 * it still holds what the fork began with, or what was merged last.
 */
export function mergeState(target: SessionState, fork: SessionState): { merged: number; conflicts: string[] } {
  const conflicts: string[] = [];
  let merged = 0;
  const changes = [...fork.changesSinceFork()];
  // Its own alone: one that it began with is about the session that it was forked from.
  const marks = changes.filter(({ key }) => key.startsWith(mergedPrefix));
  const lastMerged = new Map(marks.map(({ key, after }) => [key, after as JsonValue[] | undefined]));
  for (const { key, before, after } of changes) {
    if (key.startsWith(localPrefix)) continue;
    const now = target.get(key);
    if (isSame(now, after)) continue;
    const last = lastMerged.get(`${mergedPrefix}${key}`);
    if (!isSame(now, before) && !(last !== undefined && isSame(now, last[0]))) {
      conflicts.push(key);
      continue;
    }
    if (after === undefined) target.delete(key);
    else target.set(key, after);
    fork.set(`${mergedPrefix}${key}`, after === undefined ? [] : [after]);
    merged += 1;
  }
  return { merged, conflicts };
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
