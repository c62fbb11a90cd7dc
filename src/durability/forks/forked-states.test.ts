import { expect, test } from "vitest";
import { PluginStates } from "../../machinery/state/plugin-states.ts";
import type { LoadedPlugin } from "../../plugin/plugin.ts";
import { type Forking, plugin, type SessionPart } from "../../plugin/plugin.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { capability } from "../../protocol/table/capability.ts";
import { applyChanges, changesOf, forkStates, mergeStates } from "./forked-states.ts";

const listener = { track() {} };

function load(name: string, forking?: Forking): LoadedPlugin {
  const table = capability(name, { doc: "", calls: {} });
  const rest = { session: () => ({ handlers: {} }), ...(forking === undefined ? {} : { forking }) };
  return { name, plugin: plugin(table, rest), priority: 0, exclusive: false };
}

/** The parts and states of a session with these entries, by plugin. */
function createSession(plugins: Record<string, JsonObject | undefined>, hooks: Partial<SessionPart> = {}) {
  const states = new PluginStates(listener);
  const parts = new Map<LoadedPlugin, SessionPart>();
  for (const [name, entries] of Object.entries(plugins)) {
    parts.set(load(name), { handlers: {} as never, ...hooks });
    if (entries !== undefined) states.restore(name, entries);
  }
  return { states, parts };
}

test("a fork copies the states that there are, and shares plugins without a state", () => {
  const { states, parts } = createSession({ counter: { count: 1 }, echo: undefined });
  const fork = forkStates(parts, states);
  expect(fork.capabilities).toEqual({ counter: "copied", echo: "shared" });
  expect([...fork.states.keys()]).toEqual(["counter"]);
  fork.states.get("counter")?.set("count", 2);
  expect(states.save("counter")).toEqual({ count: 1 });
});

test("a plugin that refuses to be forked is not in the fork, though it has a state", () => {
  const states = new PluginStates(listener);
  states.open("proc").set("pid", 1);
  const fork = forkStates(new Map([[load("proc", "refused"), { handlers: {} as never }]]), states);
  expect(fork).toEqual({ states: new Map(), capabilities: { proc: "refused" } });
});

test("a part may prepare the state of the fork without changing its own", () => {
  const { states, parts } = createSession(
    { notes: { overlay: "parent" } },
    { fork: (forked) => forked.set("overlay", "fork") },
  );
  const fork = forkStates(parts, states);
  expect(fork.states.get("notes")?.get("overlay")).toBe("fork");
  expect(states.save("notes")).toEqual({ overlay: "parent" });
});

test("a merge returns the plugins whose state has changed, and conflicts by capability", () => {
  const { states, parts } = createSession({ counter: { count: 1, both: 1 }, notes: { line: "a" } });
  const forks = new PluginStates(listener, forkStates(parts, states).states);
  forks.open("counter").set("count", 2);
  forks.open("counter").set("both", 2);
  states.open("counter").set("both", 3);

  const { outcomes, changed } = mergeStates(parts, states, forks);
  expect(outcomes).toEqual({
    counter: { merged: 1, conflicts: ["both"] },
    notes: { merged: 0, conflicts: [] },
  });
  expect(changed.map(({ name }) => name)).toEqual(["counter"]);
  expect(states.save("counter")).toEqual({ count: 2, both: 3 });
});

test("a merge adds what a part merges outside of its state, which is no reason to reopen it", () => {
  const { states, parts } = createSession(
    { memory: { overlay: "parent" } },
    { merge: () => ({ merged: 2, conflicts: ["entry"] }) },
  );
  const forks = new PluginStates(listener, forkStates(parts, states).states);
  expect(mergeStates(parts, states, forks)).toEqual({
    outcomes: { memory: { merged: 2, conflicts: ["entry"] } },
    changed: [],
  });
});

test("the changes of a fork, applied to another fork of the same session, give the same states", () => {
  const { states, parts } = createSession({ counter: { count: 1, gone: 1 }, notes: { line: "a" } });
  const fork = () => new PluginStates(listener, forkStates(parts, states).states);
  const [recorded, replayed] = [fork(), fork()];
  recorded.open("counter").set("count", 2);
  recorded.open("counter").delete("gone");
  recorded.open("late").set("key", null);
  recorded.delete("notes");

  const changes = changesOf(recorded);
  expect(changes).toEqual({ counter: [["count", 2], ["gone"]], late: [["key", null]] });
  applyChanges(replayed, changes);
  const entriesOf = (all: PluginStates) => Array.from(all, ([name]) => [name, all.save(name)]);
  expect(entriesOf(replayed)).toEqual(entriesOf(recorded));
});
