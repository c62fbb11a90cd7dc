// Clients that leave, return, stop reading, or cancel.
import { expect, test } from "vitest";
import { defineTool } from "../../../caps/tools/definition/define-tool.ts";
import { connectFirst, connectSecond, httpClients } from "../mcp-clients.suite.ts";
import { useMcpHosts } from "../started-mcp-host.suite.ts";
import { initialize, json, listTools, send } from "./raw-requests.suite.ts";
import { received, sendRaw, startDoor } from "./started-door.suite.ts";

const startHost = useMcpHosts();
const nothing = { type: "object", properties: {} } as const;

const hangingTool = defineTool({
  name: "hang",
  description: "Waits until it is told not to.",
  input: nothing,
  run: (_args, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
});

function largeTool(length: number) {
  return defineTool({ name: "large", description: "Says much.", input: nothing, run: () => "x".repeat(length) });
}

function call(name: string, id: number): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: {} } });
}

test("a client whose stream was cut can reopen it at once", async () => {
  const { host } = await startHost();
  const { url, open } = await startDoor(host);
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());
  const head = `GET /mcp HTTP/1.1\r\nmcp-session-id: ${headers["mcp-session-id"]}`;
  const first = await sendRaw(url, head);
  await received(first, / 200 OK/);

  first.destroy();
  await expect.poll(() => open.size).toBe(0);

  expect((await received(await sendRaw(url, head), /^HTTP\/1.1 (\d+)/))[1]).toBe("200");
});

test.each([
  ["1", connectFirst],
  ["2", connectSecond],
])("calls that a client of SDK %s cancels leave no stream open", async (_sdk, connect) => {
  const { host } = await startHost({ tools: [hangingTool] });
  const { url, open } = await startDoor(host);
  const client = await connect(url);
  await client.listTools();
  // The stream of notifications to the client.
  await expect.poll(() => open.size).toBe(1);

  for (let count = 0; count < 3; count++) {
    const controller = new AbortController();
    const called = client.callTool({ name: "hang", arguments: {} }, { signal: controller.signal });
    const isRefused = expect(called).rejects.toThrow();
    await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(1);
    controller.abort();
    await isRefused;
  }

  await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(0);
  await expect.poll(() => open.size).toBe(1);
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
});

async function openSse(url: string) {
  const socket = await sendRaw(url, "GET /mcp/sse HTTP/1.1");
  const [, endpoint = ""] = await received(socket, /data: (\S+)/);
  const post = (body: string) => send(`${url}${endpoint}`, "POST", json, body);
  await post(initialize("2024-11-05"));
  return { socket, post };
}

test("a call that ends after its stream was ended is harmless, even if the reader has not read all of it", async () => {
  const { host } = await startHost({ tools: [hangingTool, largeTool(3_000_000)] });
  const { door, url, errors } = await startDoor(host);
  const { post } = await openSse(url);
  await post(call("large", 2));
  await post(call("large", 3));
  await post(call("hang", 4));
  await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(1);

  await door.close();
  await expect.poll(() => host.sessions.size).toBe(0);
  await new Promise((resolve) => setImmediate(resolve));

  expect(errors).toEqual([]);
});

test.each(Object.entries(httpClients))(
  "a result larger than the limit for slow readers reaches a client of %s",
  async (_revision, connect) => {
    const { url } = await startHost({ tools: [largeTool(200_000)], limits: { maxOutboundBytes: 10_000 } });
    const client = await connect(url);

    const { content } = await client.callTool({ name: "large" });

    expect(String(content[0]?.text)).toHaveLength(200_000);
  },
);

const floodTool = defineTool({
  name: "flood",
  description: "Tells more than anybody takes.",
  input: nothing,
  streaming: true,
  async run(_args, context) {
    for (let count = 1; count <= 400; count++) {
      context.emit("progress", { progress: count, message: "x".repeat(100_000) });
      if (count % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return "done";
  },
});

test("a reader that does not read is disconnected, and other clients are not affected", async () => {
  const { host } = await startHost({ tools: [floodTool], limits: { maxOutboundBytes: 1_000_000 } });
  const { url, open } = await startDoor(host);
  const { headers } = await send(`${url}/mcp`, "POST", json, initialize());
  const session = `mcp-session-id: ${headers["mcp-session-id"]}`;
  const params = { name: "flood", arguments: {}, _meta: { progressToken: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params });
  let waiting = 0;

  const socket = await sendRaw(url, `POST /mcp HTTP/1.1\r\n${session}`, body);
  socket.pause();
  await expect.poll(() => host.sessions.list()[0]?.pendingCalls).toBe(1);
  await expect
    .poll(() => {
      waiting = Math.max(waiting, ...[...open].map(({ writableLength }) => writableLength));
      return open.size;
    })
    .toBe(0);

  expect(waiting).toBeLessThan(5_000_000);
  const headersOf = { ...json, "mcp-session-id": headers["mcp-session-id"] ?? "" };
  expect((await send(`${url}/mcp`, "POST", headersOf, listTools)).status).toBe(200);
});
