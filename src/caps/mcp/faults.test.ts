// Faults of servers affect only the calls to them, and not the rest of the host.
import { expect, test } from "vitest";
import { referenceMcpCommand } from "../../conformance/reference-mcp.ts";
import { ownServer, startBridge, waitFor } from "./start-bridge.suite.ts";

const hostile = (...flags: string[]) => ({ cmd: ownServer("hostile", ...flags) });
const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

test("a server that crashes during a call fails that call as retryable, and works again for the next", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await expect(bridge.call("bad__crash")).rejects.toMatchObject({ code: "mcp_transport_error", retryable: true });
  const { reconnects } = await bridge.status("bad", "ready");

  expect(reconnects).toBe(1);
  expect(textOf(await bridge.call("bad__echo", { text: "again" }))).toBe("again");
});

test("calls to a server that is down are rejected at once, with the time after which to retry", async () => {
  await using bridge = await startBridge({ dead: hostile("--die") }, { initial_backoff_ms: 60_000 });
  const { error } = await bridge.status("dead", "error");

  const refused = bridge.client.mcp.listResources({ server_id: "dead" });

  expect(error).not.toBe("");
  await expect(refused).rejects.toMatchObject({
    code: "mcp_server_unavailable",
    detail: { server_id: "dead", retry_after_ms: expect.any(Number) },
  });
});

test("a call to a server that never answers times out, is cancelled at the server, and does not block other calls", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  const hanging = bridge.client.tools.call({ tool_name: "bad__hang", timeout: 0.3 });
  const others = await Promise.all([1, 2, 3].map((text) => bridge.call("bad__echo", { text: String(text) })));

  expect(others.map(textOf)).toEqual(["1", "2", "3"]);
  await expect(hanging).rejects.toMatchObject({ code: "timeout" });
  await waitFor(
    async () =>
      (((await bridge.call("bad__cancelled")).data as object) &&
        textOf(await bridge.call("bad__cancelled")) !== "[]") ||
      undefined,
    "a cancellation",
  );
});

test("a call that its agent cancels is cancelled at the server", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");
  const controller = new AbortController();

  const hanging = bridge.client.tools.call({ tool_name: "bad__hang" }, { signal: controller.signal });
  await waitFor(async () => ((await bridge.status("bad", "ready")).in_flight > 0 ? true : undefined), "the call");
  controller.abort();

  await expect(hanging).rejects.toMatchObject({ code: "aborted" });
  await waitFor(
    async () => (textOf(await bridge.call("bad__cancelled")) === "[]" ? undefined : true),
    "a cancellation",
  );
});

test("a server that never becomes ready times out, and delays no other server", async () => {
  await using bridge = await startBridge({ mute: hostile("--mute"), good: hostile() }, { connect_timeout_ms: 4_000 });

  await bridge.status("good", "ready");
  const { tools } = await bridge.client.tools.list({});
  const { status } = await bridge.status("mute", "connecting");

  expect(status).toBe("connecting");
  expect(tools.some(({ name }) => name === "good__echo")).toBe(true);
  expect(tools.some(({ source }) => source === "mcp:mute")).toBe(false);
  expect((await bridge.status("mute", "error")).error).toContain("not ready within 4 s");
});

test("a server that exits at the probe for its revision is initialised in the old way", async () => {
  await using bridge = await startBridge({ old: hostile("--touchy") });

  const { mcp_version } = await bridge.status("old", "ready");

  expect(mcp_version).toBe("2025-11-25");
  expect(textOf(await bridge.call("old__echo", { text: "hello" }))).toBe("hello");
});

test("some notifications of a flood are dropped and counted, and the call is answered", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  expect(textOf(await bridge.call("bad__flood"))).toBe("flooded");

  const { dropped_notifications } = await bridge.status("bad", "ready");
  expect(dropped_notifications).toBeGreaterThan(10_000);
});

test("lines that are not messages are skipped; too many in a row end the connection", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  expect(textOf(await bridge.call("bad__garbage", { lines: 5 }))).toBe("after the garbage");
  await expect(bridge.call("bad__garbage", { lines: 500 })).rejects.toMatchObject({ code: "mcp_transport_error" });

  await bridge.status("bad", "ready");
  expect(textOf(await bridge.call("bad__echo", { text: "back" }))).toBe("back");
});

test("answers out of order reach their own callers", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  const waits = [120, 10, 60, 1, 90];
  const answers = await Promise.all(waits.map((ms) => bridge.call("bad__wait", { ms, text: String(ms) })));

  expect(answers.map(textOf)).toEqual(waits.map(String));
});

test("a result of ten megabytes is rejected as too large, and a result beyond the message limit ends the connection", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await expect(bridge.call("bad__big")).rejects.toMatchObject({ code: "tool_error", retryable: false });
  expect(textOf(await bridge.call("bad__echo", { text: "still here" }))).toBe("still here");
  await expect(bridge.call("bad__huge")).rejects.toMatchObject({ code: "mcp_transport_error" });

  await bridge.status("bad", "ready");
  expect(textOf(await bridge.call("bad__echo", { text: "back" }))).toBe("back");
});

test("changes of a server's tools reach the catalogue and are reported by pushes", async () => {
  await using bridge = await startBridge({ bad: hostile("--changing") });
  await bridge.status("bad", "ready");
  const changes: string[] = [];
  bridge.client.onPush("tool/changed", ({ added }) => changes.push(...(added as string[])));

  await waitFor(() => (changes.length >= 2 ? true : undefined), "two changes");

  expect(changes.every((name) => name.startsWith("bad__generation_"))).toBe(true);
  expect(textOf(await bridge.call("bad__echo", { text: "the same" }))).toBe("the same");
});

test("a server that has lost the connection is initialised again, and the call is repeated", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await bridge.call("bad__forget");

  expect(textOf(await bridge.call("bad__echo", { text: "once" }))).toBe("once");
  expect((await bridge.status("bad", "ready")).reconnects).toBe(1);
});

test("stderr of a server never blocks it, is limited, and shows no secret", async () => {
  await using bridge = await startBridge({
    bad: { ...hostile(), env: { API_KEY: "s3cr3t-value" }, show_stderr: true },
  });
  await bridge.status("bad", "ready");

  expect(textOf(await bridge.call("bad__chatter"))).toBe("said it all");

  const { stderr } = await bridge.status("bad", "ready");
  expect(stderr.length).toBeLessThanOrEqual(50);
  expect(stderr.at(-1)).toBe("the secret is ***");
  expect(JSON.stringify(bridge.log.entries)).not.toContain("s3cr3t-value");
});

test("agents do not see the stderr of the host's own servers", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await bridge.call("bad__chatter");

  expect((await bridge.status("bad", "ready")).stderr).toEqual([]);
});

test("an invalid answer is reported as mcp_protocol_error, invalid arguments as schema_violation", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await expect(bridge.call("bad__nonsense")).rejects.toMatchObject({ code: "mcp_protocol_error" });
  await expect(bridge.call("bad__wrong")).rejects.toMatchObject({
    code: "schema_violation",
    message: expect.stringContaining("expected a string"),
  });
});

test("a tool that the server no longer has is answered with mcp_tool_not_found, and is removed from the list", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await expect(bridge.call("bad__generation_0")).rejects.toMatchObject({ code: "mcp_tool_not_found" });
});

test("the second of two tools with the same name is left out and reported", async () => {
  await using bridge = await startBridge({ bad: hostile("--twins") });

  const { collisions, tools_count } = await bridge.status("bad", "ready");

  expect(tools_count).toBe(24);
  expect(collisions).toContain("bad__echo");
});

test("tools beyond the limit are left out and logged", async () => {
  await using bridge = await startBridge({ bad: hostile("--many") });

  const { tools_count } = await bridge.status("bad", "ready");

  expect(tools_count).toBe(1000);
  const logged = bridge.log.entries.find(({ message }) => message.includes("there are too many"));
  expect(logged?.fields).toMatchObject({ server: "bad", left_out: 24, limit: 1000 });
});

test("calls to good servers are not affected by bad servers among twenty", async () => {
  const bad = [["--die"], ["--mute"], ["--changing"], ["--deaf", "--child"]];
  const servers = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [
      `s${at}`,
      hostile(...(at % 2 === 0 ? [] : (bad[((at - 1) / 2) % 4] ?? []))),
    ]),
  );
  await using bridge = await startBridge(servers);
  const good = Object.keys(servers).filter((_, at) => at % 2 === 0);
  await Promise.all(good.map((id) => bridge.status(id, "ready")));
  const other = await bridge.connect();

  const crashing = good.slice(0, 3).map((id) => bridge.call(`${id}__crash`).catch(({ code }) => code));
  const answers = await Promise.all(
    good.slice(3).map((id) => other.tools.call({ tool_name: `${id}__echo`, arguments: { text: id } })),
  );

  expect(answers.map(({ data }) => textOf(data))).toEqual(good.slice(3));
  expect(await Promise.all(crashing)).toEqual(Array(3).fill("mcp_transport_error"));
});

test("a subscription is renewed after the server reconnected", async () => {
  await using bridge = await startBridge({ ref: { cmd: [...referenceMcpCommand] } });
  await bridge.status("ref", "ready");
  const uri = "ref://text";
  const updates: unknown[] = [];
  bridge.client.onPush("mcp/server/push", ({ method, params }) => {
    if (method === "notifications/resources/updated") updates.push(params);
  });

  await bridge.client.mcp.subscribeResource({ uri, server_id: "ref" });
  await expect(bridge.call("ref__crash")).rejects.toMatchObject({ code: "mcp_transport_error" });
  await bridge.status("ref", "ready");
  await bridge.call("ref__touch", { uri });

  await waitFor(() => (updates.length > 0 ? true : undefined), "an update");
  expect(updates).toEqual([{ uri }]);
});

test("a tool that has lost its own session is an error of the tool: the connection is kept, and the call is made once", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");

  await expect(bridge.call("bad__lost_session")).rejects.toMatchObject({
    code: "mcp_protocol_error",
    detail: { mcp_code: -32603 },
  });

  expect((await bridge.status("bad", "ready")).reconnects).toBe(0);
});

test("a server that does not read its input is disconnected before its pending input fills the memory", async () => {
  await using bridge = await startBridge({ bad: hostile() }, { max_message_bytes: 100_000 });
  await bridge.status("bad", "ready");
  await bridge.call("bad__blind");

  const calls = Array.from({ length: 12 }, () =>
    bridge.call("bad__echo", { text: "x".repeat(50_000) }).catch(({ code }) => code),
  );

  expect(await Promise.all(calls)).toContain("mcp_transport_error");
  await bridge.status("bad", "ready");
  expect(textOf(await bridge.call("bad__echo", { text: "sees again" }))).toBe("sees again");
});

test("closing the host waits for servers whose connection was lost a moment before", async () => {
  const bridge = await startBridge({ deaf: { ...hostile("--deaf"), auto_reconnect: false } });
  await bridge.status("deaf", "ready");
  const pid = Number(textOf(await bridge.call("deaf__pid")));

  await expect(bridge.call("deaf__garbage", { lines: 500 })).rejects.toMatchObject({ code: "mcp_transport_error" });
  await bridge.close();

  expect(() => process.kill(pid, 0)).toThrow();
});

test("a flood of list changes reaches each agent a few times, including the last change", async () => {
  await using bridge = await startBridge({ bad: hostile() });
  await bridge.status("bad", "ready");
  const told: unknown[] = [];
  bridge.client.onPush("mcp/server/push", ({ method }) => {
    if (method === "notifications/tools/list_changed") told.push(method);
  });

  await bridge.call("bad__change", { count: 400 });
  await waitFor(async () => {
    const { tools } = await bridge.client.tools.list({});
    return tools.some(({ name }) => name === "bad__generation_400") ? true : undefined;
  }, "the last change");

  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThan(40);
});
