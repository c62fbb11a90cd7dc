// The transports to a server: pipes, Streamable HTTP, HTTP with SSE, WebSocket, and the revisions on them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as httpRequest, type Server } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { createInterface } from "node:readline";
import { afterEach, expect, test } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import type { JsonObject } from "../../../protocol/json.ts";
import { mcp } from "../protocol.ts";
import type { ServerSettings } from "../server-config.ts";
import { officialServer, ownServer, startBridge, waitFor } from "../start-bridge.suite.ts";

const running: { child?: ChildProcess; close?(): Promise<void> }[] = [];

afterEach(async () => {
  for (const { child, close } of running.splice(0)) {
    await close?.();
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
});

async function findFreePort(): Promise<number> {
  const server = createNetServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The everything server over HTTP; resolves when it listens. */
async function startEverything(mode: "sse" | "streamableHttp", port: number): Promise<ChildProcess> {
  const [command, ...args] = officialServer("everything", mode);
  const child = spawn(command, args, {
    env: { ...process.env, PORT: String(port) },
    stdio: ["pipe", "ignore", "pipe"],
  });
  running.push({ child });
  await waitFor(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/nothing`).catch(() => undefined);
    return response === undefined ? undefined : true;
  }, "the server to listen");
  return child;
}

const textOf = (result: { data: unknown }) => (result.data as { content: { text: string }[] }).content[0]?.text;

test("a server over Streamable HTTP is used, watched, and reconnected after it was down", async () => {
  const port = await findFreePort();
  const first = await startEverything("streamableHttp", port);
  const permissions = { sampling: true };
  const settings = { url: `http://127.0.0.1:${port}/mcp`, permissions, headers: { "x-key": "a-static-key" } };
  await using bridge = await startBridge({ web: settings });
  bridge.client.onAsk(mcp.asks.sample, async () => ({ content: { type: "text", text: "from the agent" }, model: "m" }));

  expect(await bridge.status("web", "ready")).toMatchObject({ transport: "http", mcp_version: "2025-11-25" });
  expect(textOf(await bridge.call("web__echo", { message: "hello" }))).toBe("Echo: hello");
  expect(JSON.stringify(await bridge.call("web__trigger-sampling-request", { prompt: "x" }))).toContain(
    "from the agent",
  );

  first.kill("SIGKILL");
  await once(first, "exit");
  await expect(bridge.call("web__echo", { message: "lost" })).rejects.toMatchObject({ retryable: true });
  await bridge.status("web", "error");
  await startEverything("streamableHttp", port);
  await bridge.status("web", "ready");

  expect(textOf(await bridge.call("web__echo", { message: "again" }))).toBe("Echo: again");
  expect(JSON.stringify(await bridge.client.mcp.listServers({}))).not.toContain("a-static-key");
});

test("a server over HTTP that lost its sessions gets a new session, and the call is made once", async () => {
  const port = await findFreePort();
  const first = await startEverything("streamableHttp", port);
  await using bridge = await startBridge({ web: { url: `http://127.0.0.1:${port}/mcp` } });
  await bridge.status("web", "ready");

  first.kill("SIGKILL");
  await once(first, "exit");
  await startEverything("streamableHttp", port);
  const result = await waitFor(() => bridge.call("web__echo", { message: "new" }).catch(() => undefined), "an answer");

  expect(textOf(result)).toBe("Echo: new");
});

test.each(["sse", "http"])("a server of 2024 over HTTP and SSE is reached as transport %s", async (transport) => {
  const port = await findFreePort();
  await startEverything("sse", port);
  await using bridge = await startBridge({ old: { url: `http://127.0.0.1:${port}/sse`, transport } });

  await bridge.status("old", "ready");

  expect(textOf(await bridge.call("old__echo", { message: "hello" }))).toBe("Echo: hello");
});

test("a server over a WebSocket is used, and reconnected after the connection was lost", async () => {
  const sockets = new Set<WebSocket>();
  const door: Server = createServer();
  const server = new WebSocketServer({ server: door, handleProtocols: () => "mcp" });
  const authorizations: unknown[] = [];
  server.on("connection", (socket, request) => {
    sockets.add(socket);
    authorizations.push(request.headers.authorization);
    const [command, ...args] = ownServer("hostile");
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    socket.on("message", (data) => child.stdin.write(`${data}\n`));
    socket.on("close", () => child.stdin.end());
    createInterface({ input: child.stdout }).on("line", (line) => socket.send(line));
    running.push({ child });
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  running.push({
    close: async () => {
      for (const socket of sockets) socket.terminate();
      await new Promise((resolve) => door.close(resolve));
    },
  });
  const url = `ws://127.0.0.1:${(door.address() as AddressInfo).port}`;
  await using bridge = await startBridge({ ws: { url, headers: { authorization: "Bearer abcdef" } } });

  expect(await bridge.status("ws", "ready")).toMatchObject({ transport: "ws" });
  expect(textOf(await bridge.call("ws__echo", { text: "over the wire" }))).toBe("over the wire");
  for (const socket of sockets) socket.terminate();
  await waitFor(async () => ((await bridge.status("ws", "ready")).reconnects > 0 ? true : undefined), "a reconnection");

  expect(textOf(await bridge.call("ws__echo", { text: "again" }))).toBe("again");
  expect(authorizations).toEqual(["Bearer abcdef", "Bearer abcdef"]);
});

test.each(["stdio", "http"])(
  "a stateless server of 2026 over %s is used, also if it asks questions",
  async (transport) => {
    const endpoint = await startStateless(transport);
    await using bridge = await startBridge({ modern: { ...endpoint, permissions: { sampling: true } } });
    bridge.client.onAsk(mcp.asks.sample, async () => ({ content: { type: "text", text: "yes" }, model: "m" }));

    expect(await bridge.status("modern", "ready")).toMatchObject({
      mcp_version: "2026-07-28",
      server_name: "stateless",
    });
    expect(textOf(await bridge.call("modern__echo", { text: "new" }))).toBe("new");
    expect(textOf(await bridge.call("modern__ask"))).toBe("it said: yes");
  },
);

/** The stateless server over either transport. */
async function startStateless(transport: string): Promise<ServerSettings> {
  if (transport === "stdio") return { cmd: ownServer("stateless") };
  const [command, ...args] = ownServer("stateless", "--http");
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  running.push({ child });
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { url };
}

test.each(["stdio", "http"])("resources of a stateless server over %s are watched one by one", async (transport) => {
  await using bridge = await startBridge({ modern: await startStateless(transport) });
  await bridge.status("modern", "ready");
  const updated: unknown[] = [];
  bridge.client.onPush(mcp.pushes.serverPush, ({ method, params }) => {
    if (method === "notifications/resources/updated") updated.push((params as JsonObject).uri);
  });

  await bridge.client.mcp.subscribeResource({ uri: "tea://green", server_id: "modern" });
  await bridge.call("modern__touch", { uri: "tea://black" });
  await bridge.call("modern__touch", { uri: "tea://green" });
  await waitFor(() => (updated.length > 0 ? true : undefined), "an update");
  await bridge.client.mcp.unsubscribeResource({ uri: "tea://green", server_id: "modern" });
  await bridge.client.mcp.subscribeResource({ uri: "tea://black", server_id: "modern" });
  await bridge.call("modern__touch", { uri: "tea://green" });
  await bridge.call("modern__touch", { uri: "tea://black" });
  await waitFor(() => (updated.length > 1 ? true : undefined), "another");

  expect(updated).toEqual(["tea://green", "tea://black"]);
});

test("a tool that a stateless server adds is listed", async () => {
  await using bridge = await startBridge({ modern: { cmd: ownServer("stateless") } });
  await bridge.status("modern", "ready");

  await bridge.call("modern__grow");

  await waitFor(async () => {
    const { tools } = await bridge.client.tools.list({});
    return tools.some(({ name }) => name === "modern__grown") ? true : undefined;
  }, "the grown tool");
});

/** Accepts connections and sends nothing. */
async function startSilence(): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  const door = createNetServer((socket) => void sockets.add(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  await once(door, "listening");
  running.push({
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => door.close(resolve));
    },
  });
  return (door.address() as AddressInfo).port;
}

test.each(["ws", "sse", "http"])(
  "a %s server that accepts the connection and sends nothing times out",
  async (transport) => {
    const url = `${transport === "ws" ? "ws" : "http"}://127.0.0.1:${await startSilence()}/mcp`;
    await using bridge = await startBridge({ mute: { url, transport } }, { connect_timeout_ms: 200 });

    const { error } = await bridge.status("mute", "error");

    expect(error).toContain("not ready within 0.2 s");
  },
);

test("a server over HTTP gets its headers with every request, and a DELETE when its session ends", async () => {
  const methods: unknown[] = [];
  const keys = new Set<unknown>();
  const port = await findFreePort();
  await startEverything("streamableHttp", port);
  const door = createServer((request, response) => {
    methods.push(request.method);
    keys.add(request.headers["x-key"]);
    const onward = httpRequest(
      { port, path: request.url, method: request.method, headers: request.headers },
      (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 500, answer.headers)),
    );
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(door, "listening");
  running.push({
    close: async () => {
      door.closeAllConnections();
      await new Promise((resolve) => door.close(resolve));
    },
  });
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}/mcp`;
  const bridge = await startBridge({ web: { url, headers: { "x-key": "abcdef" } } });
  await bridge.status("web", "ready");

  await bridge.close();

  expect(methods.at(-1)).toBe("DELETE");
  expect(keys).toEqual(new Set(["abcdef"]));
});

test("log messages of a stateless server during a call reach the agent at the requested level", async () => {
  await using bridge = await startBridge({ modern: { cmd: ownServer("stateless"), log_level: "info" } });
  await bridge.status("modern", "ready");
  const logged: unknown[] = [];
  bridge.client.onPush("mcp/server/push", ({ method, params }) => {
    if (method === "notifications/message") logged.push(params);
  });

  await bridge.call("modern__log", { text: "said on the way" });

  await waitFor(() => (logged.length > 0 ? true : undefined), "a message");
  expect(logged).toMatchObject([{ level: "info", data: "said on the way" }]);
});
