// The states that plugins keep in one session, by the name of the plugin.
import type { JsonObject } from "../../protocol/json.ts";
import { LayeredState } from "./layered-state.ts";

/** Called for each state of the session, before anything is written to it. The journal is one. */
export interface StateTracker {
  track(plugin: string, state: LayeredState): void;
}

export class PluginStates {
  readonly #tracker: StateTracker | undefined;
  /** Created with the first state: most sessions of a stateless host never need it. */
  #states: Map<string, LayeredState> | undefined;

  constructor(tracker?: StateTracker, states?: Map<string, LayeredState>) {
    this.#tracker = tracker;
    this.#states = states;
    for (const [plugin, state] of states ?? []) tracker?.track(plugin, state);
  }

  get isEmpty(): boolean {
    return this.#states === undefined || this.#states.size === 0;
  }

  /** The state of a plugin, or undefined if the plugin has not asked for it yet. */
  get(plugin: string): LayeredState | undefined {
    return this.#states?.get(plugin);
  }

  /** The state of a plugin; created empty if it does not exist. */
  open(plugin: string): LayeredState {
    const found = this.#states?.get(plugin);
    if (found !== undefined) return found;
    const state = new LayeredState();
    this.#states ??= new Map();
    this.#states.set(plugin, state);
    this.#tracker?.track(plugin, state);
    return state;
  }

  delete(plugin: string): void {
    this.#states?.delete(plugin);
  }

  [Symbol.iterator](): IterableIterator<[string, LayeredState]> {
    return (this.#states ?? new Map<string, LayeredState>()).entries();
  }

  /** All entries of a plugin's state, for a snapshot; undefined if the plugin has no state. */
  save(plugin: string): JsonObject | undefined {
    const state = this.get(plugin);
    return state === undefined ? undefined : Object.fromEntries(state.entries());
  }

  /** Replaces the entries of a plugin's state by saved entries. The returned function restores the replaced entries. */
  restore(plugin: string, entries: JsonObject): () => void {
    const state = this.open(plugin);
    const before = [...state.entries()];
    state.replace(Object.entries(entries));
    return () => state.replace(before);
  }
}
