import { expect, test } from "vitest";
import { LayeredState } from "./layered-state.ts";
import { PluginStates } from "./plugin-states.ts";

function createStates(given?: Map<string, LayeredState>) {
  const listened: [string, LayeredState][] = [];
  const states = new PluginStates({ track: (plugin, state) => void listened.push([plugin, state]) }, given);
  return { states, listened };
}

test("a state is created when it is first opened, and its listener is called once", () => {
  const { states, listened } = createStates();
  expect([states.isEmpty, states.get("counter"), [...states]]).toEqual([true, undefined, []]);
  const state = states.open("counter");
  expect(states.open("counter")).toBe(state);
  expect(states.get("counter")).toBe(state);
  expect(listened).toEqual([["counter", state]]);
  expect(states.isEmpty).toBe(false);
});

test("the listener is called for the states with which a session begins", () => {
  const state = new LayeredState();
  const { states, listened } = createStates(new Map([["counter", state]]));
  expect(listened).toEqual([["counter", state]]);
  expect([...states]).toEqual([["counter", state]]);
});

test("a plugin that has never asked for its state has nothing to save", () => {
  const { states } = createStates();
  expect(states.save("counter")).toBeUndefined();
  states.open("counter");
  expect(states.save("counter")).toEqual({});
});

test("a saved state has set and live values, and is restored after later changes", () => {
  const { states } = createStates();
  const state = states.open("counter");
  state.set("count", 1);
  state.setLive("items", () => ["a"]);
  const saved = states.save("counter") ?? {};
  expect(saved).toEqual({ count: 1, items: ["a"] });

  state.set("count", 2);
  state.set("later", true);
  state.delete("items");
  states.restore("counter", saved);
  expect(states.save("counter")).toEqual({ count: 1, items: ["a"] });
});

test("a restore can be undone", () => {
  const { states } = createStates();
  states.open("counter").set("count", 2);
  const undo = states.restore("counter", { other: 1 });
  expect(states.save("counter")).toEqual({ other: 1 });
  undo();
  expect(states.save("counter")).toEqual({ count: 2 });
});

test("a plugin that has not asked for its state yet finds the restored one", () => {
  const { states, listened } = createStates();
  states.restore("counter", { count: 3 });
  expect(states.open("counter").get("count")).toBe(3);
  expect(listened).toHaveLength(1);
});
