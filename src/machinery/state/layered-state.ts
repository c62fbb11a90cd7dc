// The state of a plugin in one session, as the host implements it: a stack of layers, newest on top. A fork copies nothing:
// parent and fork share the layers of that moment, and each writes to a new layer of its own above them.

import type { SessionState } from "../../plugin/session-state.ts";
import type { JsonValue } from "../../protocol/json.ts";

/** Marks a key that a layer below has and that was deleted in this layer. */
const deleted = Symbol("deleted");
type Slot = JsonValue | typeof deleted;
type Layer = ReadonlyMap<string, Slot>;

/** A change for the journal to write; `value` is undefined if the key was deleted. */
export interface StateChange {
  readonly key: string;
  readonly value: JsonValue | undefined;
}

/** A lookup takes one step per layer, so a layer less than this many times as large as the layer above it is joined with it. */
const minGrowth = 2;

export class LayeredState implements SessionState {
  /** Shared with forks, oldest first; these layers are never written to again. */
  #below: readonly Layer[];
  #top = new Map<string, Slot>();
  /** The layers with which a fork began: its changes are the difference to these. */
  readonly #ground: readonly Layer[];
  /** How to read the values that were reported with `setLive`. */
  readonly #live = new Map<string, () => JsonValue | undefined>();
  /** Keys changed since `takeChanges` was last called; undefined if changes are not tracked. */
  #changed: Set<string> | undefined;
  #onChange: (() => void) | undefined;

  constructor(below: readonly Layer[] = [], ground = below) {
    this.#below = below;
    this.#ground = ground;
  }

  /**
   * Restores a state from stored layers, oldest first; the value undefined marks a key that the layer deleted. The first
   * `groundCount` layers are those with which a fork began.
   */
  static fromLayers(layers: readonly ReadonlyMap<string, JsonValue | undefined>[], groundCount = 0): LayeredState {
    const slots = layers.map((layer) => new Map(Array.from(layer, ([key, value]) => [key, toSlot(value)] as const)));
    const state = new LayeredState(slots.slice(0, -1), slots.slice(0, groundCount));
    state.#top = new Map(slots.at(-1) ?? []);
    return state;
  }

  get(key: string): JsonValue | undefined {
    const live = this.#live.get(key);
    if (live !== undefined) return live();
    const own = this.#top.get(key);
    if (own !== undefined) return own === deleted ? undefined : own;
    return find(this.#below, key);
  }

  set(key: string, value: JsonValue): void {
    // The host's JSON parser drops this key, so the value would be missing after a restore.
    if (key === "__proto__") throw new TypeError('the key "__proto__" cannot be used in a state');
    this.#live.delete(key);
    this.#top.set(key, value);
    this.#note(key);
  }

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

  /** Returns a new state with the same entries. The cost depends on the number of live values, not on that of all values. */
  fork(): LayeredState {
    this.#freeze();
    const forked = new LayeredState(this.#below);
    // A plugin may write to the fork before the journal calls `track`: those changes must not be missed.
    forked.#changed = new Set();
    return forked;
  }

  /** The keys that this fork has changed since it was forked, with their value before the fork and now. */
  *changesSinceFork(): Generator<{ key: string; before: JsonValue | undefined; after: JsonValue | undefined }> {
    this.#freeze();
    const keys = new Set(
      this.#below.filter((layer) => !this.#ground.includes(layer)).flatMap((layer) => [...layer.keys()]),
    );
    for (const key of keys) yield { key, before: find(this.#ground, key), after: this.get(key) };
  }

  /** Replaces all entries, for example by those of a snapshot. */
  replace(entries: Iterable<readonly [string, JsonValue]>): void {
    const fresh = new Map<string, Slot>(entries);
    for (const [key] of [...this.entries()]) if (!fresh.has(key)) this.#note(key);
    for (const key of fresh.keys()) this.#note(key);
    this.#live.clear();
    // A fork keeps its ground for as long as it lives, so keys of the ground that are not in `entries` are marked as deleted.
    for (const layer of this.#ground) for (const key of layer.keys()) if (!fresh.has(key)) fresh.set(key, deleted);
    this.#below = this.#ground;
    this.#top = fresh;
  }

  /** Collects changes from now on. Calls `onChange` at the first change after each `takeChanges`. */
  track(onChange: () => void): void {
    this.#changed ??= new Set();
    this.#onChange = onChange;
    if (this.#changed.size > 0) onChange();
  }

  /** Returns the changes since the last call. */
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

/** null is an ordinary value. */
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
 * Returns the same entries in fewer layers. Small layers at the top are joined and large layers below are left alone, so
 * that there are few layers and a small change does not copy a large layer.
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
