// Tools that run as tasks: in revision 2025-11-25, and in the extension of 2026-07-28.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { mcpLimits } from "./limits.ts";
import { mcp } from "./protocol.ts";
import { ownServer, startBridge, waitFor } from "./start-bridge.suite.ts";

/** The same server at a remote address: it continues, with its tasks, when the connection is lost. */
async function startElsewhere(flags: readonly string[]) {
  const [command, ...args] = ownServer("tasks", ...flags);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const door = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => "mcp" });
  let current: WebSocket | undefined;
  door.on("connection", (socket) => {
    current = socket;
    socket.on("message", (data) => child.stdin.write(`${data}\n`));
  });
  createInterface({ input: child.stdout }).on("line", (line) => current?.send(line));
  await once(door, "listening");
  const cut = () => current?.terminate();
  onTestFinished(async () => {
    cut();
    await new Promise((resolve) => door.close(resolve));
    child.stdin.end();
    await once(child, "exit");
  });
  return { url: `ws://127.0.0.1:${(door.address() as AddressInfo).port}`, cut };
}

/** The same behind an HTTP gateway, which may answer in its place with the status that `refuse` returns. */
async function startBehindGateway(flags: readonly string[], refuse: (method: string) => number | undefined) {
  const [command, ...args] = ownServer("tasks", ...flags);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<unknown, (line: string) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => waiting.get(JSON.parse(line).id)?.(line));
  const gateway = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const body = (await request.toArray()).join("");
    const { id, method = "" } = JSON.parse(body) as { id?: unknown; method?: string };
    const status = refuse(method);
    if (status !== undefined) return response.writeHead(status).end();
    child.stdin.write(`${body}\n`);
    if (id === undefined) return response.writeHead(202).end();
    const answer = await new Promise<string>((resolve) => waiting.set(id, resolve));
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  }).listen(0, "127.0.0.1");
  await once(gateway, "listening");
  onTestFinished(async () => {
    gateway.closeAllConnections();
    await new Promise((resolve) => gateway.close(resolve));
    child.stdin.end();
    await once(child, "exit");
  });
  return `http://127.0.0.1:${(gateway.address() as AddressInfo).port}/mcp`;
}

const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

describe.each([
  ["2025-11-25", []],
  ["2026-07-28", ["--2026"]],
])("in the revision of %s", (revision, flags) => {
  const start = async (permissions = {}) => {
    const bridge = await startBridge({ slow: { cmd: ownServer("tasks", ...flags), permissions } });
    expect(await bridge.status("slow", "ready")).toMatchObject({ mcp_version: revision });
    return bridge;
  };

  test("a task is followed to its end, and its status changes are events", async () => {
    await using bridge = await start();
    const events: [string, unknown][] = [];

    const { data } = await bridge.client.tools.call(
      { tool_name: "slow__steps", arguments: { what: "it" } },
      { onEvent: ({ kind, data }) => events.push([kind, data]) },
    );

    expect(textOf(data)).toBe("done with it");
    const statuses = events.filter(([kind]) => kind === "status").map(([, status]) => status);
    expect(statuses).toEqual([
      { task_id: "task-1", status: "working", message: "begun" },
      { task_id: "task-1", status: "working", message: "half way" },
    ]);
  });

  test("a task that fails is an error with the server's code, and a task whose tool fails is a result", async () => {
    await using bridge = await start();

    await expect(bridge.call("slow__failing")).rejects.toMatchObject({
      code: "mcp_protocol_error",
      message: expect.stringContaining("it broke"),
      detail: { mcp_code: -32000 },
    });
    expect(await bridge.call("slow__mistaken")).toMatchObject({ success: false, error: "it went wrong" });
  });

  test("a task that the server cancels or no longer has ends the call", async () => {
    await using bridge = await start();

    await expect(bridge.call("slow__withdrawn")).rejects.toMatchObject({ code: "mcp_protocol_error" });
    await expect(bridge.call("slow__gone")).rejects.toMatchObject({
      code: "mcp_protocol_error",
      message: expect.stringContaining("Task not found"),
    });
  });

  test("a call that is cancelled and a call that times out cancel their tasks", async () => {
    await using bridge = await start();
    const controller = new AbortController();
    const cancelled = async () => JSON.parse(textOf(await bridge.call("slow__cancelled")) ?? "[]") as string[];

    const endless = bridge.client.tools.call(
      { tool_name: "slow__endless" },
      { signal: controller.signal, onEvent: () => controller.abort() },
    );
    await expect(endless).rejects.toMatchObject({ code: "aborted" });
    await expect(bridge.client.tools.call({ tool_name: "slow__endless", timeout: 0.2 })).rejects.toMatchObject({
      code: "timeout",
    });

    await waitFor(async () => ((await cancelled()).length === 2 ? true : undefined), "two cancellations");
    expect(await cancelled()).toEqual(["task-1", "task-2"]);
  });

  test("a task that needs input from the user asks the agent", async () => {
    await using bridge = await start({ elicitation: true });
    const asked: unknown[] = [];
    const statuses: unknown[] = [];
    bridge.client.onAsk(mcp.asks.elicit, async ({ message, mode }) => {
      asked.push({ message, mode });
      return { action: "accept", content: { one: "the first" } };
    });

    const { data } = await bridge.client.tools.call(
      { tool_name: "slow__asking" },
      { onEvent: ({ data: { status } }) => statuses.push(status) },
    );

    expect(textOf(data)).toBe("chosen: the first");
    expect(asked).toEqual([{ message: "Which one?", mode: "form" }]);
    expect(statuses).toContain("input_required");
  });

  test("the agent that started the task is asked, even if other agents are busy", async () => {
    await using bridge = await start({ elicitation: true });
    const other = await bridge.connect();
    const asked: string[] = [];
    const answering = (name: string) => async () => {
      asked.push(name);
      return { action: "accept", content: { one: name } };
    };
    bridge.client.onAsk(mcp.asks.elicit, answering("first"));
    other.onAsk(mcp.asks.elicit, answering("second"));
    const controller = new AbortController();
    const busy = other.tools.call({ tool_name: "slow__endless" }, { signal: controller.signal }).catch(() => {});
    await waitFor(async () => ((await bridge.status("slow", "ready")).in_flight > 0 ? true : undefined), "a call");

    const answer = await bridge.call("slow__asking");
    controller.abort();
    await busy;

    expect(textOf(answer)).toBe("chosen: first");
    expect(asked).toEqual(["first"]);
  });

  test("a task at a remote server is resumed after the connection was lost", async () => {
    const { url, cut } = await startElsewhere(flags);
    await using bridge = await startBridge({ slow: { url } });
    await bridge.status("slow", "ready");
    const statuses: unknown[] = [];

    const { data } = await bridge.client.tools.call(
      { tool_name: "slow__steps", arguments: { what: "it" } },
      {
        onEvent({ kind, data: { task_id, message } }) {
          if (kind !== "status") return;
          statuses.push([task_id, message]);
          if (message === "half way") cut();
        },
      },
    );

    expect(textOf(data)).toBe("done with it");
    expect(statuses).toEqual([
      ["task-1", "begun"],
      ["task-1", "half way"],
    ]);
    expect((await bridge.status("slow", "ready")).reconnects).toBe(1);
    // The tool was called once: its work must not be repeated because the connection was lost.
    expect(textOf(await bridge.call("slow__begun"))).toBe('["task-1"]');
  });

  test("requests to a gateway that cannot reach the server are retried, requests that it rejects are not", async () => {
    const refusals = [503, 502];
    const refuse = (method: string) => (method === "tasks/get" ? refusals.shift() : undefined);
    await using bridge = await startBridge({ slow: { url: await startBehindGateway(flags, refuse) } });
    await bridge.status("slow", "ready");

    expect(textOf(await bridge.call("slow__steps", { what: "it" }))).toBe("done with it");

    refusals.push(403);
    await expect(bridge.call("slow__steps")).rejects.toMatchObject({
      code: "mcp_transport_error",
      detail: { http_status: 403 },
    });
  });

  test("requests to a gateway that lets no answer through are retried until the request times out", async () => {
    let refused = 0;
    const url = await startBehindGateway(flags, (method) => {
      if (method !== "tasks/result" && method !== "tasks/update") return undefined;
      refused += 1;
      return 503;
    });
    await using bridge = await startBridge({ slow: { url, timeout: 3, permissions: { elicitation: true } } });
    await bridge.status("slow", "ready");
    bridge.client.onAsk(mcp.asks.elicit, async () => ({ action: "accept", content: { one: "this" } }));

    await expect(bridge.call("slow__asking")).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("did not answer in time"),
    });

    expect(refused).toBeGreaterThan(1);
    // One at once, and one after each pause.
    expect(refused).toBeLessThanOrEqual(1 + 3_000 / mcpLimits.initialBackoffMs);
  });

  test("an answer of the agent that was lost with the connection is sent again", async () => {
    const { url, cut } = await startElsewhere(flags);
    await using bridge = await startBridge({ slow: { url, permissions: { elicitation: true } } });
    await bridge.status("slow", "ready");
    let asked = 0;
    bridge.client.onAsk(mcp.asks.elicit, async () => {
      asked += 1;
      if (asked === 1) cut();
      return { action: "accept", content: { one: `answer ${asked}` } };
    });

    const { data } = await bridge.client.tools.call({ tool_name: "slow__asking", timeout: 120 });

    // In the older revision the question is a request of the lost connection, and is asked again on the next.
    expect(textOf(data)).toBe(flags.length === 0 ? "chosen: answer 2" : "chosen: answer 1");
  });

  test("a task whose server does not return ends when the call times out", async () => {
    const { url, cut } = await startElsewhere(flags);
    await using bridge = await startBridge({ slow: { url } }, { initial_backoff_ms: 60_000, max_backoff_ms: 60_000 });
    await bridge.status("slow", "ready");

    const lost = bridge.client.tools.call({ tool_name: "slow__endless", timeout: 0.5 }, { onEvent: cut });

    await expect(lost).rejects.toMatchObject({ code: "timeout" });
  });

  test("a task of a stdio server ends with its process", async () => {
    await using bridge = await start();

    const lost = bridge.client.tools.call(
      { tool_name: "slow__endless", timeout: 120 },
      { onEvent: () => void bridge.call("slow__crash").catch(() => {}) },
    );

    await expect(lost).rejects.toMatchObject({ code: "mcp_transport_error" });
  });

  test("a task whose question is refused ends", async () => {
    await using bridge = await start({ elicitation: true });

    await expect(bridge.call("slow__asking")).rejects.toMatchObject({ code: "mcp_sampling_refused" });

    // In the older revision the server receives the refusal and decides; in the newer revision the task has to be
    // cancelled.
    const expected = flags.length === 0 ? "[]" : '["task-1"]';
    await waitFor(
      async () => (textOf(await bridge.call("slow__cancelled")) === expected ? true : undefined),
      "the end",
    );
  });
});

test("progress of a task is reported for as long as it runs", async () => {
  await using bridge = await startBridge({ slow: { cmd: ownServer("tasks") } });
  await bridge.status("slow", "ready");
  const progress: unknown[] = [];
  const controller = new AbortController();

  const call = bridge.client.tools.call(
    { tool_name: "slow__endless" },
    { signal: controller.signal, onEvent: ({ kind, data }) => kind === "progress" && progress.push(data) },
  );
  await waitFor(() => (progress.length > 0 ? true : undefined), "progress");
  controller.abort();

  await expect(call).rejects.toMatchObject({ code: "aborted" });
  expect(progress).toEqual([{ progress: 1 }]);
});
