// Files of sessions, of forks of them, and of both together again.
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { LayeredState } from "../../../host/session/layered-state.ts";
import { defineEnv } from "../define-env.ts";
import { discrete } from "../spaces/discrete.ts";
import { reload, startEnv } from "../test-session.suite.ts";
import { orders, startData } from "./data-host.suite.ts";

test("sessions and forks have files of their own, and a restart finds them again", async () => {
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

test("a fork copies no file until one of the two writes, and then sees only its own", async () => {
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

test("a session that goes back to before a fork writes nothing where the fork reads", async () => {
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

test("a merge brings the files of a fork, unless both have changed theirs", async () => {
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

  // From here on both go their own ways again.
  await fork.call("resetData", {});
  await session.call("addData", { parts: [{ src: "orders.csv", dest: "parent.csv" }] });
  expect(await names()).toEqual(["from the fork", "orders.csv", "parent.csv"]);
  expect(session.part.merge?.(fork.state)).toMatchObject({ merged: 0, conflicts: [expect.stringContaining("data")] });
  expect(await names()).toEqual(["from the fork", "orders.csv", "parent.csv"]);
});

test("an environment of a fork writes to files of its own", async () => {
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

test("files go with a session that has ended for good, and with no other; what a fork reads from stays", async () => {
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
  // Also where nobody has asked for them since it was taken up again.
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
