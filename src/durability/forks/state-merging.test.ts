import { expect, test } from "vitest";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import { localPrefix } from "../../plugin/session-state.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { mergeState } from "./state-merging.ts";

const entriesOf = (state: LayeredState) => Object.fromEntries([...state.entries()].sort());

test("a merge applies the changes that only the fork made, skips local keys and lists keys that both changed as conflicts", () => {
  const state = new LayeredState();
  for (const name of ["both", "fork", "same", "dropped"]) state.set(name, 0);
  const fork = state.fork();
  fork.set("both", 1);
  fork.set("fork", 1);
  fork.set("same", 7);
  fork.set("new", 1);
  fork.delete("dropped");
  fork.set(`${localPrefix}overlay`, "of the fork");
  state.set("both", 2);
  state.set("same", 7);

  expect(mergeState(state, fork)).toEqual({ merged: 3, conflicts: ["both"] });
  expect(entriesOf(state)).toEqual({ both: 2, fork: 1, new: 1, same: 7 });
});

test("a key that a fork deleted before it was restored is deleted in the parent by the merge", () => {
  const state = new LayeredState();
  state.set("gone", 1);
  const fork = state.fork();
  fork.delete("gone");
  const saved = [...fork.entries()];
  fork.set("gone", 2);
  fork.replace(saved);

  expect(mergeState(state, fork)).toEqual({ merged: 1, conflicts: [] });
  expect(entriesOf(state)).toEqual({});
});

test("a second merge applies what the fork changed since the first one, also after a restart", () => {
  const state = new LayeredState();
  state.set("kept", 0);
  state.set("both", 0);
  const fork = state.fork();
  for (const name of ["kept", "both", "new"]) fork.set(name, 1);
  const saved = [...state.entries()];
  expect(mergeState(state, fork)).toEqual({ merged: 3, conflicts: [] });

  for (const name of ["kept", "both", "new"]) fork.set(name, 2);
  state.set("both", 7);
  const layers = [
    new Map([
      ["kept", 0 as JsonValue],
      ["both", 0],
    ]),
    new Map(fork.entries()),
  ];
  const stored = LayeredState.fromLayers(layers, 1);

  expect(mergeState(state, stored)).toEqual({ merged: 2, conflicts: ["both"] });
  expect(entriesOf(state)).toEqual({ kept: 2, both: 7, new: 2 });
  // Restoring the parent undoes the merge, so the fork can be merged again.
  state.replace(saved);
  expect(mergeState(state, fork)).toEqual({ merged: 3, conflicts: [] });
});

test("merge marks of a fork with its parent do not affect the merge of a fork of that fork", () => {
  const state = new LayeredState();
  state.set("key", 0);
  const fork = state.fork();
  fork.set("key", 1);
  mergeState(state, fork);
  fork.set("key", 2);
  const inner = fork.fork();
  inner.set("key", 3);
  fork.set("key", 1);

  expect(mergeState(fork, inner)).toEqual({ merged: 0, conflicts: ["key"] });
  expect(fork.get("key")).toBe(1);
});
