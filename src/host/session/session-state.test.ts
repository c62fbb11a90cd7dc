import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../protocol/json.ts";
import { localPrefix, mergeState, SessionState } from "./session-state.ts";

const entriesOf = (state: SessionState) => Object.fromEntries([...state.entries()].sort());

test("whatever is set, deleted, forked and put back, each state holds what a plain copy would", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const action = fc.oneof(
    fc.record({ kind: fc.constant("set" as const), which: fc.nat(), key, value: fc.nat(9) }),
    fc.record({ kind: fc.constant("live" as const), which: fc.nat(), key, value: fc.nat(9) }),
    fc.record({ kind: fc.constant("delete" as const), which: fc.nat(), key, value: fc.constant(0) }),
    fc.record({ kind: fc.constant("fork" as const), which: fc.nat(), key, value: fc.constant(0) }),
    fc.record({ kind: fc.constant("replace" as const), which: fc.nat(), key, value: fc.nat(9) }),
  );
  fc.assert(
    fc.property(fc.array(action, { maxLength: 120, size: "max" }), (actions) => {
      const pairs = [{ state: new SessionState(), model: new Map<string, JsonValue>() }];
      for (const { kind, which, key: name, value } of actions) {
        const pair = pairs[which % pairs.length] as (typeof pairs)[number];
        if (kind === "set") pair.state.set(name, value);
        if (kind === "live") pair.state.setLive(name, () => value);
        if (kind === "set" || kind === "live") pair.model.set(name, value);
        if (kind === "delete") {
          pair.state.delete(name);
          pair.model.delete(name);
        }
        if (kind === "fork") pairs.push({ state: pair.state.fork(), model: new Map(pair.model) });
        if (kind === "replace") {
          pair.model = new Map([[name, value]]);
          pair.state.replace(pair.model);
        }
      }
      for (const { state, model } of pairs) {
        expect(entriesOf(state)).toEqual(Object.fromEntries([...model].sort()));
        for (const name of ["a", "b", "c", "d"]) expect(state.get(name)).toEqual(model.get(name));
        expect(state.isEmpty).toBe(model.size === 0);
      }
    }),
  );
});

test("a fork costs what is live, not what is kept", () => {
  const state = new SessionState();
  for (let index = 0; index < 1000; index++) state.set(`key-${index}`, index);
  let reads = 0;
  state.setLive("live", () => {
    reads += 1;
    return reads;
  });
  const forks = Array.from({ length: 50 }, () => state.fork());
  expect(reads).toBe(1);
  expect(forks.every((fork) => fork.get("key-7") === 7 && fork.get("live") === 1)).toBe(true);
});

test("many forks in a row keep every value within reach", () => {
  let state = new SessionState();
  for (let depth = 0; depth < 100; depth++) {
    state.set(`depth-${depth}`, depth);
    state = state.fork();
  }
  expect([...state.entries()]).toHaveLength(100);
  expect([state.get("depth-0"), state.get("depth-99")]).toEqual([0, 99]);
});

test("changes are collected once each, with the value they have when they are taken", () => {
  const state = new SessionState();
  state.set("before", 1);
  let told = 0;
  state.track(() => {
    told += 1;
  });
  state.set("a", 1);
  state.set("a", 2);
  let live = 1;
  state.setLive("b", () => live);
  live = 5;
  state.delete("before");
  expect(told).toBe(1);
  expect(state.takeChanges()).toEqual([
    { key: "a", value: 2 },
    { key: "b", value: 5 },
    { key: "before", value: undefined },
  ]);
  expect(state.takeChanges()).toEqual([]);
  state.set("a", 3);
  expect(told).toBe(2);
});

test("replacing a state reports what came, what changed and what went", () => {
  const state = new SessionState();
  state.set("gone", 1);
  state.set("kept", 1);
  state.track(() => {});
  state.replace([
    ["kept", 2],
    ["new", 3],
  ]);
  expect(entriesOf(state)).toEqual({ kept: 2, new: 3 });
  expect(new Set(state.takeChanges().map(({ key }) => key))).toEqual(new Set(["gone", "kept", "new"]));
});

test("layers that were stored give the state that wrote them", () => {
  const state = SessionState.fromLayers([
    new Map<string, JsonValue | undefined>([
      ["a", 1],
      ["b", 2],
    ]),
    new Map<string, JsonValue | undefined>([
      ["b", undefined],
      ["c", 3],
    ]),
  ]);
  expect(entriesOf(state)).toEqual({ a: 1, c: 3 });
});

test("merging applies what the fork alone changed, leaves local keys alone and names what both changed", () => {
  const state = new SessionState();
  for (const name of ["both", "fork", "same", "dropped"]) state.set(name, 0);
  const fork = state.fork();
  fork.set("both", 1);
  fork.set("fork", 1);
  fork.set("same", 7);
  fork.set("new", 1);
  fork.delete("dropped");
  fork.set(`${localPrefix}overlay`, "fork's own");
  state.set("both", 2);
  state.set("same", 7);

  expect(mergeState(state, fork)).toEqual({ merged: 3, conflicts: ["both"] });
  expect(entriesOf(state)).toEqual({ both: 2, fork: 1, new: 1, same: 7 });
});

test("a fork that was put back to where a key was gone takes it from its parent when it is merged", () => {
  const state = new SessionState();
  state.set("gone", 1);
  const fork = state.fork();
  fork.delete("gone");
  const saved = [...fork.entries()];
  fork.set("gone", 2);
  fork.replace(saved);

  expect(mergeState(state, fork)).toEqual({ merged: 1, conflicts: [] });
  expect(entriesOf(state)).toEqual({});
});

test("a merge may be repeated, and then takes what came after the first, also after a restart", () => {
  const state = new SessionState();
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
  const stored = SessionState.fromLayers(layers, 1);

  expect(mergeState(state, stored)).toEqual({ merged: 2, conflicts: ["both"] });
  expect(entriesOf(state)).toEqual({ kept: 2, both: 7, new: 2 });
  // What was merged is undone by going back, and can be had again.
  state.replace(saved);
  expect(mergeState(state, fork)).toEqual({ merged: 3, conflicts: [] });
});

test("what a fork had merged itself does not count where a fork of it is merged", () => {
  const state = new SessionState();
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

test("the one key that no snapshot could bring back is refused at once", () => {
  const state = new SessionState();
  expect(() => state.set("__proto__", 1)).toThrow("__proto__");
  expect([...state.entries()]).toEqual([]);
});
