// Files of sessions and of their forks, and merges of both.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LayeredState } from "../../../machinery/state/layered-state.ts";
import { defineEnv } from "../define-env.ts";
import { discrete } from "../spaces/discrete.ts";
import { reload, startEnv } from "../test-session.suite.ts";
import { orders, startData } from "./data-host.suite.ts";

test("sessions and forks have their own files, which survive a restart", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  const stranger = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv", uri: "orders" }] });
  const find = async (reader: typeof session) => (await reader.call("getData", { query: "orders" })).items ?? [];

  const state = session.state.fork();
  session.part.fork?.(state);
  const fork = await setup.host.open({ state });
  await session.call("resetData", {});

  expect(await find(stranger)).toEqual([]);
  expect(await find(session)).toEqual([]);
  expect(await find(fork)).toMatchObject([{ uri: "orders" }]);
  expect(await find(await setup.host.open({ state: reload(fork.state) }))).toMatchObject([{ uri: "orders" }]);
});

test("a fork shares its parent's files until one of them writes, and then each sees only its own", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv", uri: "orders" }] });
  const root = join(setup.host.folder, "data", "env-data");
  const state = session.state.fork();
  session.part.fork?.(state);
  const fork = await setup.host.open({ state });
  const names = async (reader: typeof session) =>
    (await reader.call("getData", { query: "*.csv" })).items?.map(({ dest }) => dest);

  expect(await names(fork)).toEqual(["orders.csv"]);
  expect(readdirSync(root)).toHaveLength(1);

  await session.call("addData", { parts: [{ src: "orders.csv", dest: "parent.csv" }] });
  await fork.call("addData", { parts: [{ src: "orders.csv", dest: "fork.csv" }] });
  expect(await names(session)).toEqual(["orders.csv", "parent.csv"]);
  expect(await names(fork)).toEqual(["fork.csv", "orders.csv"]);
});

test("a session restored to a state from before a fork does not write to the files that the fork reads", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv" }] });
  const saved = [...session.state.entries()];
  const state = session.state.fork();
  session.part.fork?.(state);
  const fork = await setup.host.open({ state });
  session.state.replace(saved);
  const again = await setup.host.open({ state: session.state });
  const names = async (reader: typeof session) =>
    (await reader.call("getData", { query: "*.csv" })).items?.map(({ dest }) => dest);

  await again.call("addData", { parts: [{ src: "orders.csv", dest: "later.csv" }] });

  expect(await names(again)).toEqual(["later.csv", "orders.csv"]);
  expect(await names(fork)).toEqual(["orders.csv"]);
});

test("a merge takes over the files of a fork, unless both sessions have changed files", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv" }] });
  const forkOf = async (parent: typeof session) => {
    const state = parent.state.fork();
    parent.part.fork?.(state);
    return setup.host.open({ state });
  };
  const names = async () => (await session.call("getData", { query: "*.csv" })).items?.map(({ uri }) => uri);
  const [fork, idle] = [await forkOf(session), await forkOf(session)];
  await fork.call("addData", { parts: [{ src: "orders.csv", dest: "fork.csv", uri: "from the fork" }] });

  expect(session.part.merge?.(idle.state)).toEqual({ merged: 0, conflicts: [] });
  expect(session.part.merge?.(fork.state)).toEqual({ merged: 1, conflicts: [] });
  expect(await names()).toEqual(["from the fork", "orders.csv"]);

  // From here on, both write independently again.
  await fork.call("resetData", {});
  await session.call("addData", { parts: [{ src: "orders.csv", dest: "parent.csv" }] });
  expect(await names()).toEqual(["from the fork", "orders.csv", "parent.csv"]);
  expect(session.part.merge?.(fork.state)).toMatchObject({ merged: 0, conflicts: [expect.stringContaining("data")] });
  expect(await names()).toEqual(["from the fork", "orders.csv", "parent.csv"]);
});

test("an environment in a fork writes to the files of the fork", async () => {
  const writer = defineEnv({
    name: "writer",
    actionSpace: discrete(1),
    observationSpace: discrete(1),
    reset: () => 0,
    step(_state, _action, { dataDir }) {
      writeFileSync(join(dataDir, "orders.csv"), "changed");
      return {};
    },
  });
  await using setup = await startData();
  await using host = await startEnv({ envs: [writer], data: { sources: [join(setup.folder, "workspace")] } });
  const session = await host.open();
  await session.call("addData", { parts: [{ src: "orders.csv" }] });
  await session.call("reset", { env_name: "writer" });
  const state = session.state.fork();
  session.part.fork?.(state);
  const fork = await host.open({ state });

  fork.handle("step", { action: 0 });

  const content = async (reader: typeof session) =>
    (await reader.call("getData", { include_content: true })).items?.[0]?.content;
  expect(await content(fork)).toBe("changed");
  expect(await content(session)).toBe(orders);
});

test("closing a session for good removes its files, but not those that a fork reads", async () => {
  await using setup = await startData();
  const root = join(setup.host.folder, "data", "env-data");
  const stage = async (state?: LayeredState) => {
    const session = await setup.host.open(state === undefined ? {} : { state });
    await session.call("addData", { parts: [{ src: "orders.csv" }] });
    return session;
  };
  const session = await stage();
  await session.part.close?.();
  expect(readdirSync(root)).toHaveLength(1);
  // Also if no request used the files after the session was resumed.
  const again = await setup.host.open({ state: reload(session.state) });
  await again.part.close?.(true);
  expect(readdirSync(root)).toEqual([]);
  const without = await setup.host.open();
  await without.part.close?.(true);

  const parent = await stage();
  const state = parent.state.fork();
  parent.part.fork?.(state);
  const fork = await setup.host.open({ state });
  await parent.part.close?.(true);
  expect((await fork.call("getData", { query: "orders" })).items).toHaveLength(1);
});
