import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../protocol/json.ts";
import { LayeredState } from "./layered-state.ts";

const entriesOf = (state: LayeredState) => Object.fromEntries([...state.entries()].sort());

test("after any sequence of set, delete, fork and replace, each state holds the same entries as a plain copy", () => {
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
      const pairs = [{ state: new LayeredState(), model: new Map<string, JsonValue>() }];
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
      }
    }),
  );
});

test("a fork reads live values once and copies no other value", () => {
  const state = new LayeredState();
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

test("after 100 forks of forks, every value can still be read", () => {
  let state = new LayeredState();
  for (let depth = 0; depth < 100; depth++) {
    state.set(`depth-${depth}`, depth);
    state = state.fork();
  }
  expect([...state.entries()]).toHaveLength(100);
  expect([state.get("depth-0"), state.get("depth-99")]).toEqual([0, 99]);
});

test("takeChanges returns each changed key once, with the value it has at that moment", () => {
  const state = new LayeredState();
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

test("replacing a state reports added, changed and deleted keys as changes", () => {
  const state = new LayeredState();
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

test("a state is restored from its stored layers", () => {
  const state = LayeredState.fromLayers([
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

test("setting the key __proto__ throws, because no snapshot could restore it", () => {
  const state = new LayeredState();
  expect(() => state.set("__proto__", 1)).toThrow("__proto__");
  expect([...state.entries()]).toEqual([]);
});
