// Requests without a server id: they are sent to all servers, whatever state one of them is in.
import { expect, test } from "vitest";
import type { A2EClientError } from "../../../client/errors.ts";
import { ownServer, startBridge, waitFor } from "../start-bridge.suite.ts";

const library = (name: string, ...flags: string[]) => ({ cmd: ownServer("hostile", name, "--library", ...flags) });

/** Two servers with resources and prompts; the first does not answer requests about them, but works otherwise. */
async function startWithHanging() {
  const bridge = await startBridge({ hanging: library("hanging"), sound: library("sound") });
  await bridge.status("hanging", "ready");
  await bridge.status("sound", "ready");
  await bridge.call("hanging__mute");
  return bridge;
}

/** Less than the request timeout of a server (300 s), more than a busy machine needs. */
const soon = { timeoutMs: 120_000 };

test.concurrent("a resource and a prompt are read from the server that has them, although another server hangs", async () => {
  await using bridge = await startWithHanging();
  const { mcp } = bridge.client;

  expect(await mcp.readResource({ uri: "sound://own" }, soon)).toMatchObject({ server_id: "sound" });
  expect(await mcp.getPrompt({ name: "sound" }, soon)).toMatchObject({ server_id: "sound" });
});

test.concurrent("lists of all servers begin with the servers that answer, although one hangs", async () => {
  await using bridge = await startWithHanging();
  const { mcp } = bridge.client;

  const [resources, templates, prompts] = await Promise.all([
    mcp.listResources({}, soon),
    mcp.listResourceTemplates({}, soon),
    mcp.listPrompts({}, soon),
  ]);

  expect(resources.resources.map(({ uri }) => uri)).toEqual(["sound://own", "all://shared"]);
  expect(templates.templates.map(({ name }) => name)).toEqual(["sound"]);
  expect(prompts.prompts.map(({ name }) => name)).toEqual(["sound"]);
  // The server that hangs comes last, and its answer is awaited.
  const rest = mcp.listPrompts({ cursor: prompts.next_cursor }, { timeoutMs: 1_500 });
  await expect(rest).rejects.toMatchObject({ code: "timeout" } satisfies Partial<A2EClientError>);
});

test.concurrent("a slow server is listed, although another server hangs", async () => {
  await using bridge = await startBridge({ hanging: library("hanging"), slow: library("slow", "--slow-library") });
  await bridge.status("hanging", "ready");
  await bridge.status("slow", "ready");
  await bridge.call("hanging__mute");

  const { prompts, next_cursor } = await bridge.client.mcp.listPrompts({}, soon);

  expect(prompts.map(({ name }) => name)).toEqual(["slow"]);
  expect(next_cursor).not.toBe("");
});

test.concurrent("a request to a server that hangs times out as configured", async () => {
  await using bridge = await startBridge({ hanging: { ...library("hanging"), timeout: 0.5 } });
  await bridge.status("hanging", "ready");
  await bridge.call("hanging__mute");
  const { mcp } = bridge.client;
  const server_id = "hanging";
  const tooLate = { code: "timeout", message: expect.stringContaining("did not answer in time") };

  await expect(mcp.readResource({ uri: "hanging://own", server_id }, soon)).rejects.toMatchObject(tooLate);
  await expect(mcp.getPrompt({ name: "hanging", server_id }, soon)).rejects.toMatchObject(tooLate);
  await expect(mcp.listResources({ server_id }, soon)).rejects.toMatchObject(tooLate);
});

test.concurrent("a server that is known to hang gets no requests without a server id", async () => {
  // Long enough for the working server to answer on a busy machine.
  const pings = { ping_interval_ms: 20, ping_timeout_ms: 3_000 };
  await using bridge = await startBridge({ busy: library("busy", "--mute-pings"), sound: library("sound") }, pings);
  await bridge.status("busy", "ready");
  await bridge.status("sound", "ready");
  const controller = new AbortController();
  const working = bridge.client.tools.call({ tool_name: "busy__hang" }, { signal: controller.signal }).catch(() => {});
  await waitFor(async () => ((await bridge.status("busy", "ready")).error === "" ? undefined : true), "a missed ping");

  const { prompts, next_cursor } = await bridge.client.mcp.listPrompts({});
  const named = await bridge.client.mcp.listPrompts({ server_id: "busy" });
  controller.abort();
  await working;

  expect([prompts.map(({ name }) => name), next_cursor]).toEqual([["sound"], ""]);
  expect(named.prompts.map(({ name }) => name)).toEqual(["busy"]);
});

test.concurrent("a server that does not list its resources and prompts is ready for tool calls", async () => {
  await using bridge = await startBridge({ hanging: library("hanging", "--mute-library") });

  expect(await bridge.status("hanging", "ready")).toMatchObject({ resources_count: 0, prompts_count: 0 });
  expect(await bridge.call("hanging__echo", { text: "well" })).toMatchObject({ success: true });
});

test.concurrent("a server with a short connect timeout that does not list its resources is ready for tool calls", async () => {
  const options = { connect_timeout_ms: 3_000 };
  await using bridge = await startBridge({ hanging: library("hanging", "--mute-library") }, options);

  expect(await bridge.status("hanging", "ready")).toMatchObject({ resources_count: 0, prompts_count: 0 });
});

test.concurrent("a subscription is sent to the server that has the resource, if several support subscriptions", async () => {
  const unwatched = library("unwatched", "--unwatched");
  await using bridge = await startBridge({ unwatched, one: library("one"), other: library("other") });
  for (const id of ["unwatched", "one", "other"]) await bridge.status(id, "ready");
  const { mcp } = bridge.client;

  expect(await mcp.subscribeResource({ uri: "other://own" })).toMatchObject({ ok: true });
  expect(await mcp.unsubscribeResource({ uri: "other://own" })).toMatchObject({ ok: true });
  expect(await mcp.subscribeResource({ uri: "all://shared" })).toMatchObject({ ok: true });
  await expect(mcp.subscribeResource({ uri: "nobodys://own" })).rejects.toMatchObject({
    code: "mcp_resource_not_found",
  });
});
