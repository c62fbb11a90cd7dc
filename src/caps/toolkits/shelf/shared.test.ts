import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createTokenAuthentication } from "../../../host/authentication.ts";
import { createKey, createSecrets } from "../../../plugin/ports/secrets.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { useTemporaryFolder } from "../../../stores/temporary-folder.suite.ts";
import { defineToolkit, type Toolkit } from "../define-toolkit.ts";
import { actionsOf, createProbe, type StartToolkitsOptions, startToolkits } from "../start-toolkits.suite.ts";

const newFolder = useTemporaryFolder();

/** Agents with the token are authenticated under their name. */
const authenticated: Pick<StartToolkitsOptions, "host" | "client"> = {
  host: { authenticate: createTokenAuthentication("door") },
  client: { agentId: "admin", authToken: "door" },
};

function startShared(options: StartToolkitsOptions = {}) {
  const probe = createProbe({ scope: "host" });
  return startToolkits({
    builtin: false,
    toolkits: [probe.toolkit],
    shared_admins: ["admin"],
    ...authenticated,
    ...options,
  }).then((host) => ({ ...host, seen: probe.seen }));
}

test("a shared toolkit runs once, and every session has its tools", async () => {
  await using host = await startShared();
  const other = actionsOf(await host.connect({ agentId: "other", authToken: "door" }));

  expect(await host.configure("probe", { greeting: "all" })).toMatchObject({
    toolkit: { scope: "host", state: "running" },
  });

  const later = actionsOf(await host.connect({ agentId: "later", authToken: "door" }));
  for (const agent of [host, other, later])
    expect(await agent.call("probe__greet", { name: "x" })).toMatchObject({ text: "all x" });
  expect(await other.stateOf("probe")).toBe("running");
  expect(host.seen.started).toBe(1);
  await host.kits.uninstall({ toolkit_name: "probe" });
  expect(await other.toolNames()).toEqual([]);
});

test("agents that are not listed in shared_admins cannot change a shared toolkit, and the error names the option", async () => {
  await using host = await startShared();
  await host.configure("probe", { greeting: "all" });
  const { kits } = actionsOf(await host.connect({ agentId: "other", authToken: "door" }));
  for (const refused of [
    kits.configure({ toolkit_name: "probe", config: { greeting: "mine" } }),
    kits.uninstall({ toolkit_name: "probe" }),
    kits.install({ toolkit_name: "probe" }),
    kits.install({ toolkit_name: "probe", alias: "mine", config: {} }),
  ])
    await expect(refused).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining("shared_admins"),
    });
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "all x" });
});

test("the name of an admin gives no rights without authentication", async () => {
  await using host = await startShared({ host: {}, client: { agentId: "admin" } });
  await expect(host.configure("probe")).rejects.toMatchObject({ code: "forbidden" });
  await using open = await startShared({ host: {}, client: { agentId: "anybody" }, shared_admins: ["*"] });
  expect(await open.configure("probe")).toMatchObject({ status: "ok" });
});

test("a shared toolkit that an admin configured survives a restart with its secrets", async () => {
  const folder = newFolder();
  const { openKeyFile } = await import("../../../stores/files/key-file.ts");
  const path = join(folder, "a2e.sqlite");
  const secrets = openKeyFile({ path: join(folder, "secret.key") });
  const options: StartToolkitsOptions = { path, host: { ...authenticated.host, secrets } };
  const first = await startShared(options);
  await first.configure("probe", { greeting: "kept", token: "very-secret" });
  await first.close();

  await using second = await startShared(options);
  const other = actionsOf(await second.connect({ agentId: "other", authToken: "door" }));

  expect(await other.call("probe__greet", { name: "x" })).toMatchObject({ text: "kept x" });
  expect(await other.call("probe__leak")).toMatchObject({ token: "[secret]" });
  await second.kits.uninstall({ toolkit_name: "probe" });
  await second.close();
  await using third = await startShared(options);
  expect(await third.toolNames()).toEqual([]);
});

test("toolkits of the operator's config run from the start and cannot be changed by agents", async () => {
  const { toolkit } = createProbe();
  await using host = await startToolkits({
    builtin: false,
    toolkits: [toolkit],
    shared_admins: ["*"],
    shared: { company: { toolkit: "probe", config: { greeting: "welcome", token: "very-secret" } }, probe: {} },
  });
  expect(await host.call("company__greet", { name: "x" })).toMatchObject({ text: "welcome x" });
  const { toolkits } = await host.kits.list();
  expect(toolkits.map(({ name, alias, state, scope }) => [name, alias, state, scope])).toEqual([
    ["probe", "", "running", "host"],
    ["probe", "company", "running", "host"],
  ]);
  expect(JSON.stringify(toolkits)).not.toContain("very-secret");
  for (const toolkit_name of ["company", "probe"]) {
    await expect(host.configure(toolkit_name)).rejects.toMatchObject({ code: "forbidden" });
    await expect(host.kits.uninstall({ toolkit_name })).rejects.toMatchObject({ code: "forbidden" });
  }
  await expect(host.kits.install({ toolkit_name: "probe", alias: "company" })).rejects.toMatchObject({
    code: "toolkit_conflict",
  });
  // The session can still install its own instance.
  await host.kits.install({ toolkit_name: "probe", alias: "mine", config: { greeting: "me" } });
  expect(await host.call("mine__greet", { name: "x" })).toMatchObject({ text: "me x" });
});

test("an invalid config of the operator stops the start; a toolkit that cannot start does not", async () => {
  const { toolkit } = createProbe();
  const start = (shared: StartToolkitsOptions["shared"], toolkits = [toolkit]) =>
    startToolkits({ builtin: false, toolkits, shared: shared ?? {} });
  await expect(start({ probe: { config: { times: 0 } } })).rejects.toThrow("times");
  await expect(start({ prob: {} })).rejects.toThrow('there is no toolkit "prob"');
  await expect(start({ "a b": { toolkit: "probe" } })).rejects.toThrow('shared."a b"');
  const away = createProbe({ failWith: "away" });
  await using host = await start({ probe: {} }, [away.toolkit]);
  expect(await host.stateOf("probe")).toBe("configured");
  expect(host.log.entries).toMatchObject([{ level: "error", fields: { reason: "away" } }]);
});

test("a toolkit of the operator that could not start is available once a retry succeeds", async () => {
  const probe = createProbe({ failWith: "away" });
  await using host = await startToolkits({
    builtin: false,
    toolkits: [probe.toolkit],
    shared: { probe: {} },
    shared_retry_ms: 5,
  });
  expect([await host.stateOf("probe"), await host.toolNames()]).toEqual(["configured", []]);

  probe.failWith(undefined);

  await vi.waitFor(async () => expect(await host.stateOf("probe")).toBe("running"));
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "hello x" });
});

const secrets = createSecrets(createKey());

/** Starts hosts on one database, one after the other. */
function startAgain(path: string, toolkit: Toolkit) {
  return startToolkits({ builtin: false, toolkits: [toolkit], shared_admins: ["*"], path, host: { secrets } });
}

test("a config that is no longer valid after a restart is reported, and can be replaced", async () => {
  const path = join(newFolder(), "a2e.sqlite");
  const define = (config: z.ZodObject): Toolkit =>
    defineToolkit({
      name: "growing",
      description: "Changes its mind.",
      scope: "host",
      config,
      tools: { show: { description: "", input: z.object({}), run: (_args, { config }) => config as JsonObject } },
    });
  const first = await startAgain(path, define(z.object({ size: z.int() })));
  await first.configure("growing", { size: 50 });
  await first.close();

  const second = await startAgain(path, define(z.object({ size: z.int().max(10) })));
  expect((await second.kits.list()).toolkits[0]).toMatchObject({
    state: "configured",
    error: expect.stringMatching(/no longer valid: size: .*configure it again/),
  });
  expect(await second.toolNames()).toEqual([]);
  expect(await second.configure("growing", { size: 5 })).toMatchObject({ status: "ok" });
  await second.close();

  const more = z.object({ size: z.int(), color: z.string().default("red") });
  const { $schema: _draft, ...schema } = z.toJSONSchema(more, { io: "input" });
  const third = define(more);
  await using host = await startAgain(path, {
    ...third,
    configSchema: schema as JsonObject,
    parseConfig: (given) => given,
  });
  expect(await host.call("growing__show")).toEqual({ size: 5, color: "red" });
});

test("a value that a toolkit newly marks as secret is no longer shown, and still in use", async () => {
  const path = join(newFolder(), "a2e.sqlite");
  const define = (key: object): Toolkit =>
    defineToolkit({
      name: "learning",
      description: "Knows better now.",
      scope: "host",
      config: {
        type: "object",
        properties: { key: { type: "string", ...key }, token: { type: "string", writeOnly: true } },
      },
      tools: {
        measure: {
          description: "",
          input: z.object({}),
          run: (_args, { config }) => [String(config.key).length, String(config.token).length],
        },
      },
    });
  const first = await startAgain(path, define({}));
  await first.configure("learning", { key: "in clear", token: "a token" });
  await first.close();

  // Twice, so that the second start reads the sealed value.
  for (const _ of [1, 2]) {
    await using host = await startAgain(path, define({ "x-secret": true }));
    expect((await host.kits.list()).toolkits[0]).toMatchObject({ state: "running", secrets: ["token", "key"] });
    expect(JSON.stringify(await host.kits.list())).not.toContain("in clear");
    expect(await host.call("learning__measure")).toEqual(["in clear".length, "a token".length]);
  }
});

test("a toolkit that cannot start on first use after a restart reports the error until it can", async () => {
  const path = join(newFolder(), "a2e.sqlite");
  const probe = createProbe({ scope: "host" });
  const first = await startAgain(path, probe.toolkit);
  await first.configure("probe");
  await first.close();
  await using host = await startAgain(path, probe.toolkit);
  const shown = async () => (await host.kits.list()).toolkits[0];
  expect(await shown()).toMatchObject({ state: "running", error: "" });

  probe.failWith("away");
  await expect(host.call("probe__greet", { name: "x" })).rejects.toMatchObject({ code: "tool_error", message: "away" });
  expect(await shown()).toMatchObject({ state: "running", error: "away" });

  probe.failWith(undefined);
  expect(await host.call("probe__greet", { name: "x" })).toMatchObject({ text: "hello x" });
  expect(await shown()).toMatchObject({ state: "running", error: "" });
});
