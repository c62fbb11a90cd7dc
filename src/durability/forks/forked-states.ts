// Forks and merges the states of all plugins of a session.

import type { LayeredState } from "../../machinery/state/layered-state.ts";
import type { PluginStates } from "../../machinery/state/plugin-states.ts";
import type { Forking, LoadedPlugin, SessionPart } from "../../plugin/plugin.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { isSame, type MergeOutcome, mergeState } from "./state-merging.ts";

type Parts = ReadonlyMap<LoadedPlugin, SessionPart>;

/** By plugin: each changed key with its value, or without a value if the key was deleted. */
export type ForkChanges = Record<string, [key: string, value?: JsonValue][]>;

/** The states for a fork of the session as it is now, and how each capability is forked. */
export function forkStates(
  parts: Parts,
  states: PluginStates,
): { states: Map<string, LayeredState>; capabilities: Record<string, Forking> } {
  const forks = new Map<string, LayeredState>();
  const capabilities: Record<string, Forking> = {};
  for (const [{ name, plugin }, part] of parts) {
    const state = states.get(name);
    const forking = plugin.forking ?? (state === undefined ? "shared" : "copied");
    capabilities[plugin.capability.name] = forking;
    if (state === undefined || forking === "refused") continue;
    const forked = state.fork();
    part.fork?.(forked);
    forks.set(name, forked);
  }
  return { states: forks, capabilities };
}

/** Merges the states of a fork into those of its parent. `changed` are the plugins whose state in the parent has changed. */
export function mergeStates(
  parts: Parts,
  states: PluginStates,
  forks: PluginStates,
): { outcomes: Record<string, MergeOutcome>; changed: LoadedPlugin[] } {
  const outcomes: Record<string, MergeOutcome> = {};
  const changed: LoadedPlugin[] = [];
  for (const [loaded, part] of parts) {
    const fork = forks.get(loaded.name);
    if (fork === undefined) continue;
    const { merged, conflicts } = mergeState(states.open(loaded.name), fork);
    const outside = part.merge?.(fork);
    outcomes[loaded.plugin.capability.name] = {
      merged: merged + (outside?.merged ?? 0),
      conflicts: [...conflicts, ...(outside?.conflicts ?? [])],
    };
    if (merged > 0) changed.push(loaded);
  }
  return { outcomes, changed };
}

/** All changes of a fork since it was created. */
export function changesOf(forks: PluginStates): ForkChanges {
  const changes: ForkChanges = {};
  for (const [name, state] of forks) {
    changes[name] = Array.from(state.changesSinceFork(), ({ key, after }) =>
      after === undefined ? [key] : [key, after],
    );
  }
  return changes;
}

/** Applies the changes to another copy of the fork, for a replay. Values that are already equal are not written. */
export function applyChanges(forks: PluginStates, changes: ForkChanges): void {
  for (const [name] of [...forks]) if (!Object.hasOwn(changes, name)) forks.delete(name);
  for (const [name, changed] of Object.entries(changes)) {
    const state = forks.open(name);
    for (const [key, value] of changed) {
      if (isSame(state.get(key), value)) continue;
      if (value === undefined) state.delete(key);
      else state.set(key, value);
    }
  }
}
