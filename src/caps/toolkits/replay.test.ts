// Recorded sessions with their own and shared toolkits are replayed without starting any.
import { expect, test } from "vitest";
import type { HostOptions } from "../../host/host.ts";
import { core } from "../../protocol/core.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { identical, replay } from "../../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { type ToolkitsPluginOptions, toolkitsPlugin } from "./plugin.ts";
import { actionsOf, createProbe, startToolkits } from "./start-toolkits.suite.ts";

async function replayAll(texts: readonly string[], options: ToolkitsPluginOptions) {
  for (const text of texts) {
    const host: Partial<HostOptions> = { database: await createSqliteDatabase({ path: ":memory:" }) };
    const plugins = [toolkitsPlugin(options), toolsPlugin({ builtin: false })];
    expect(await replay({ text }, plugins, { host })).toEqual(identical);
  }
}

test("a session's own toolkits are replayed through a snapshot and a fork, without their secrets", async () => {
  const recordings = createMemoryRecordings();
  const probe = createProbe();
  const options = { builtin: false, toolkits: [probe.toolkit] };
  {
    await using host = await startToolkits({ ...options, host: { recordings } });
    await host.configure("probe", { token: "very-secret", nested: { pin: 4711, note: "" } });
    const { snapshot_id } = await host.client.use(core).snapshot();
    await host.kits.uninstall({ toolkit_name: "probe" });
    await host.client.use(core).restore({ snapshot_id });
    expect(await host.stateOf("probe")).toBe("running");
    await host.call("probe__greet", { name: "again" });
    const { session_id } = await host.client.use(core).fork();
    const fork = actionsOf(await host.connect({ sessionId: session_id, agentId: host.client.agentId }));
    expect(await fork.toolNames()).toContain("probe__greet");
    // A restored toolkit that cannot start is listed with the reason, until it can start.
    await host.client.use(core).restore({ snapshot_id });
    probe.failWith("away");
    await host.call("probe__greet", { name: "nobody" }).catch(() => {});
    expect((await host.kits.list()).toolkits[0]).toMatchObject({ error: "away" });
    probe.failWith(undefined);
    await host.call("probe__greet", { name: "x" });
    expect((await host.kits.list()).toolkits[0]).toMatchObject({ error: "" });
  }
  const { started } = probe.seen;
  expect(recordings.texts.join("")).not.toContain("very-secret");
  await replayAll(recordings.texts, options);
  expect(probe.seen.started).toBe(started);
});

test("shared toolkits are replayed as they were at the time, even if others set them up or removed them", async () => {
  const recordings = createMemoryRecordings();
  const shared = createProbe({ scope: "host" });
  const fixed = createProbe({ name: "fixed" });
  const away = createProbe({ name: "away", failWith: "not yet" });
  const options = {
    builtin: false,
    toolkits: [shared.toolkit, fixed.toolkit, away.toolkit],
    shared_admins: ["*"],
    shared_retry_ms: 20,
    shared: { company: { toolkit: "fixed", config: { token: "very-secret" } }, away: {} },
  };
  {
    await using host = await startToolkits({ ...options, host: { recordings } });
    const other = actionsOf(await host.connect());
    expect(await other.toolNames()).not.toContain("probe__greet");
    await host.configure("probe", { greeting: "all", token: "very-secret" });
    expect(await other.stateOf("probe")).toBe("running");
    await other.call("probe__greet", { name: "x" });
    await other.call("probe__greet", { name: 7 }).catch(() => {});
    await other.call("company__greet", { name: "x" });
    away.failWith(undefined);
    await expect.poll(() => other.toolNames()).toContain("away__greet");
    await other.call("away__leak");
    await other.kits.uninstall({ toolkit_name: "probe" });
    expect(await host.toolNames()).not.toContain("probe__greet");
    await host.kits.uninstall({ toolkit_name: "probe" }).catch(() => {});
    await host.kits.install({ toolkit_name: "probe", alias: "again", config: { times: 0 } }).catch(() => {});
    await host.kits.install({ toolkit_name: "probe", alias: "again", config: { times: 2 } });
    await host.kits.configure({ toolkit_name: "company", config: {} }).catch(() => {});
    await host.call("again__greet", { name: "x" });
  }
  const started = [shared, fixed, away].map(({ seen }) => seen.started);
  expect(recordings.texts.join("")).not.toContain("very-secret");
  await replayAll(recordings.texts, options);
  expect([shared, fixed, away].map(({ seen }) => seen.started)).toEqual(started);
});

test("a secret in a field that is not marked as secret is not recorded, and its rejection is replayed", async () => {
  const recordings = createMemoryRecordings();
  const options = { builtin: false, toolkits: [createProbe().toolkit] };
  {
    await using host = await startToolkits({ ...options, host: { recordings } });
    for (const misplaced of [{ start: "very-secret" }, { toolkit_name: { token: "very-secret" } }]) {
      const refused = host.kits.configure({ toolkit_name: "probe", config: {}, ...misplaced } as never);
      await expect(refused).rejects.toMatchObject({ code: "schema_violation" });
    }
  }
  expect(recordings.texts.join("")).not.toContain("very-secret");
  await replayAll(recordings.texts, options);
});
