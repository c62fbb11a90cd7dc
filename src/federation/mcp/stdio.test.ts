import { PassThrough, Writable } from "node:stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { defineTool } from "../../caps/tools/definition/define-tool.ts";
import type { A2EHost } from "../../host/host.ts";
import { testServerPlugin } from "./conformance/test-server-plugin.suite.ts";
import { addTool, useMcpHosts } from "./started-mcp-host.suite.ts";
import { serveMcpOverStdio } from "./stdio.ts";

const startHost = useMcpHosts();

interface Said {
  id?: number | string | null;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string };
}

function serve(host: A2EHost, output?: Writable) {
  const input = new PassThrough();
  const said: Said[] = [];
  const lines = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split("\n")) if (line !== "") said.push(JSON.parse(line) as Said);
      done();
    },
  });
  const served = serveMcpOverStdio(host, { input, output: output ?? lines, version: "1", token: "" });
  onTestFinished(() => served.close());
  const answerTo = (id: Said["id"]) => said.find((message) => message.id === id);
  return { input, said, served, answerTo };
}

const nothing = { type: "object", properties: {} } as const;

function line(method: string, params: object = {}, id?: number): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, params })}\n`;
}

const clientInfo = { name: "raw", version: "1" };
const hello =
  line("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo }, 1) +
  line("notifications/initialized");
const add = (id: number) => line("tools/call", { name: "add", arguments: { a: 1, b: id } }, id);

function hangingTool(onEnd: (reason: unknown) => void = () => {}) {
  return defineTool({
    name: "hang",
    description: "Waits until it is told not to.",
    input: nothing,
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          onEnd(signal.reason);
          reject(signal.reason as Error);
        }),
      ),
  });
}

test("requests before the end of input are answered, and then the connection ends", async () => {
  const { host } = await startHost({ tools: [addTool] });
  const { input, served, answerTo } = serve(host);

  input.end(hello + add(2) + add(3).trimEnd());
  await served.ended;

  expect(answerTo(2)?.result).toMatchObject({ structuredContent: { sum: 3 } });
  expect(answerTo(3)?.result).toMatchObject({ structuredContent: { sum: 4 } });
});

test("a call that continues after the end of input is cancelled, and its session ends", async () => {
  const reasons: unknown[] = [];
  const { host } = await startHost({ tools: [hangingTool((reason) => reasons.push(reason))] });
  const { input, served, answerTo } = serve(host);
  input.write(hello + line("tools/call", { name: "hang", arguments: {} }, 2));
  await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(1);

  input.end();
  await served.ended;
  await served.close();

  expect(answerTo(2)).toBeUndefined();
  await expect.poll(() => reasons).toMatchObject([{ code: "cancelled" }]);
  await expect.poll(() => host.sessions.size).toBe(0);
});

test("the end of input does not wait for a call that its client cancelled", async () => {
  const { host } = await startHost({ tools: [hangingTool()] });
  const { input, served } = serve(host);
  input.write(hello + line("tools/call", { name: "hang", arguments: {} }, 2));
  await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(1);

  input.end(line("notifications/cancelled", { requestId: 2 }));

  await served.ended;
});

test("a line that is too long, too deep, not JSON or not JSON-RPC is answered, and the next line is served", async () => {
  const { host } = await startHost({ tools: [addTool], limits: { maxLineBytes: 10_000 } });
  const { input, said, served, answerTo } = serve(host);
  const deep = `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add","arguments":${"[".repeat(4_000)}${"]".repeat(4_000)}}}\n`;

  input.write(hello);
  input.write(line("tools/call", { name: "add", arguments: { a: "x".repeat(20_000) } }, 2));
  input.write(`${deep}nope\n{"jsonrpc":"2.0","id":4,"method":5}\n{"jsonrpc":"2.0","id":5,"error":"?"}\n\n`);
  input.end(add(6));
  await served.ended;

  const refused = said.filter(({ error }) => error !== undefined).map(({ id, error }) => [id, error?.code]);
  expect(refused).toEqual([
    [null, -32600],
    [3, -32600],
    [null, -32700],
    [4, -32600],
  ]);
  expect(answerTo(6)?.result).toMatchObject({ structuredContent: { sum: 7 } });
});

test("messages of a batch are served one by one", async () => {
  const { host } = await startHost({ tools: [addTool] });
  const { input, served, answerTo } = serve(host);

  input.end(`${hello}[${add(2).trimEnd()},${add(3).trimEnd()},7]\n`);
  await served.ended;

  expect([answerTo(2)?.result, answerTo(3)?.result]).toMatchObject([
    { structuredContent: { sum: 3 } },
    { structuredContent: { sum: 4 } },
  ]);
  expect(answerTo(null)?.error?.code).toBe(-32600);
});

test("the connection ends when its output is closed", async () => {
  const { host } = await startHost({ tools: [addTool] });
  const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
  const { input, served } = serve(host, broken);

  input.write(hello);

  await served.ended;
});

test("the connection ends when it is closed", async () => {
  const { host } = await startHost();
  const { input, served } = serve(host);
  input.write(hello + line("tools/list", {}, 2));
  await expect.poll(() => host.sessions.size).toBe(1);

  await Promise.all([served.close(), served.ended]);

  await expect.poll(() => host.sessions.size).toBe(0);
});

/** The envelope of each request in revision 2026-07-28. */
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const listen = (id: number, notifications: object) => line("subscriptions/listen", { notifications, _meta }, id);

test("in revision 2026-07-28 resources are watched for as long as the client listens", async () => {
  const { host, audited } = await startHost({ plugins: [testServerPlugin()] });
  const { input, said, served } = serve(host);
  const uri = "test://watched-resource";
  const saidOf = (method: string) => said.filter((message) => message.method === method).map(({ params }) => params);
  const countOf = (type: string) => audited.filter((entry) => entry.type === type && entry.success).length;

  input.write(listen(1, { toolsListChanged: true, resourceSubscriptions: [uri, "workspace:///notes.md"] }));
  await expect.poll(() => saidOf("notifications/resources/updated")).toMatchObject([{ uri }]);
  expect(saidOf("notifications/subscriptions/acknowledged")).toMatchObject([
    { notifications: { toolsListChanged: true, resourceSubscriptions: [uri] } },
  ]);
  expect(countOf("mcp/resource/unsubscribe/req")).toBe(0);

  input.write(line("notifications/cancelled", { requestId: 1, _meta }));
  await expect.poll(() => countOf("mcp/resource/unsubscribe/req")).toBe(1);

  input.write(listen(2, { resourceSubscriptions: [uri] }) + line("notifications/cancelled", { requestId: 2, _meta }));
  await expect.poll(() => countOf("mcp/resource/unsubscribe/req")).toBe(2);
  input.end();
  await served.ended;
});

test("a client that only listens is notified of new tools, and does not delay the end", async () => {
  const { host } = await startHost();
  const { input, said, served } = serve(host);
  const methods = () => said.map(({ method }) => method);

  input.write(listen(1, { toolsListChanged: true }));
  await expect.poll(methods).toContain("notifications/subscriptions/acknowledged");
  host.tools.add([addTool]);
  await expect.poll(methods).toContain("notifications/tools/list_changed");

  // The time for last answers is never over.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  input.end();
  await served.ended;
});

test("a request to listen that is rejected watches nothing", async () => {
  const { host, audited } = await startHost({ plugins: [testServerPlugin()] });
  const { input, said, served, answerTo } = serve(host);
  const broken = { ..._meta, "io.modelcontextprotocol/clientCapabilities": 7 };
  const notifications = { resourceSubscriptions: ["test://watched-resource"] };

  input.write(
    listen(1, { toolsListChanged: true }) + line("subscriptions/listen", { notifications, _meta: broken }, 2),
  );

  await expect.poll(() => answerTo(2)?.error?.code).toBe(-32602);
  const countOf = (type: string) => audited.filter((entry) => entry.type === type).length;
  // Watches that began before the rejection are ended after it.
  const left = () => countOf("mcp/resource/subscribe/req") - countOf("mcp/resource/unsubscribe/req");
  await expect.poll(left).toBe(0);
  expect(said.filter(({ method }) => method === "notifications/resources/updated")).toEqual([]);
  input.end();
  await served.ended;
});
