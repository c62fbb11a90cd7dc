// What does a call cost over HTTP, alone and beside 63 others?
import { get } from "node:http";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { Pool } from "undici";
import { createNodeHttpTransport } from "../src/transports/http/http-node.ts";
import { connectEcho } from "./lib/a2e-client.ts";
import { runClosedLoop } from "./lib/closed-loop.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";
import { connectMcp } from "./lib/mcp-client.ts";
import { startServerProcess } from "./lib/server-process.ts";
import { assertEcho, type RawMessage, rawRequest } from "./lib/workload.ts";

export const benchmark: Benchmark = {
  id: "http",
  title: "tool call over HTTP between two processes",
  cases: {
    a2e64: { title: "a2e, 64 in flight", start: () => startOurs(64) },
    mcp64: { title: "MCP SDK, 64 in flight", start: () => startMcp(64) },
    raw64: { title: "bare POST, answer in the body, 64 in flight", start: () => startRawPost(64) },
    a2e1: { title: "a2e, one in flight", start: () => startOurs(1) },
    rawsse1: { title: "bare POST, answer over SSE, one in flight", start: startRawStream },
  },
  bars: [
    {
      id: "http.mcp64",
      ours: "a2e64",
      peer: "mcp64",
      measure: "perSecond",
      atLeast: 20,
      claim: "tool calls per second over HTTP with 64 in flight, MCP SDK = 1",
    },
    {
      id: "http.raw64",
      ours: "a2e64",
      peer: "raw64",
      measure: "perSecond",
      atLeast: 2,
      claim: "the same, a bare `node:http` POST per call = 1",
    },
    { id: "http.raw1", ours: "a2e1", peer: "rawsse1", measure: "perSecond", atLeast: 0.7 },
  ],
};

async function startOurs(inFlight: number): Promise<RunningCase> {
  const server = await startServerProcess("a2e-http");
  const { client, call } = await connectEcho(createNodeHttpTransport({ url: `http://127.0.0.1:${server.port}` }));
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight, pids: [server.pid] }),
    async close() {
      await client.disconnect();
      await server.stop();
    },
  };
}

async function startMcp(inFlight: number): Promise<RunningCase> {
  const server = await startServerProcess("mcp-http");
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${server.port}/mcp`));
  // The SDK's own types disagree under exactOptionalPropertyTypes.
  const { call, close } = await connectMcp(transport as Transport);
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight, pids: [server.pid] }),
    async close() {
      await close();
      await server.stop();
    },
  };
}

async function startRawPost(inFlight: number): Promise<RunningCase> {
  const server = await startServerProcess("raw-http");
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { connections: inFlight, pipelining: 1 });
  let count = 0;
  const call = async () => {
    count += 1;
    return JSON.parse(await post(pool, "/call", rawRequest(String(count)))) as RawMessage;
  };
  assertEcho((await call()).text);
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight, pids: [server.pid] }),
    async close() {
      await pool.destroy();
      await server.stop();
    },
  };
}

async function startRawStream(): Promise<RunningCase> {
  const server = await startServerProcess("raw-http");
  const origin = `http://127.0.0.1:${server.port}`;
  const pool = new Pool(origin, { connections: 1, pipelining: 1 });
  const waiting = new Map<string, (answer: RawMessage) => void>();
  const stream = await openRawStream(`${origin}/stream`, (answer) => {
    const id = String(answer.req_id);
    waiting.get(id)?.(answer);
    waiting.delete(id);
  });
  let count = 0;
  const call = async () => {
    count += 1;
    const id = String(count);
    const answer = new Promise<RawMessage>((resolve) => waiting.set(id, resolve));
    await post(pool, "/send", rawRequest(id));
    return answer;
  };
  assertEcho((await call()).text);
  return {
    round: (ms) => runClosedLoop(call, { ms, inFlight: 1, pids: [server.pid] }),
    async close() {
      stream.destroy();
      await pool.destroy();
      await server.stop();
    },
  };
}

async function post(pool: Pool, path: string, message: RawMessage): Promise<string> {
  const headers = { "content-type": "application/json" };
  const { body } = await pool.request({ path, method: "POST", headers, body: JSON.stringify(message) });
  return body.text();
}

function openRawStream(url: string, receive: (message: RawMessage) => void): Promise<{ destroy(): void }> {
  return new Promise((resolve, reject) => {
    const request = get(url, (response) => {
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        const events = (rest + chunk).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) {
          const at = event.indexOf("data: ");
          if (at !== -1) receive(JSON.parse(event.slice(at + "data: ".length)) as RawMessage);
        }
      });
      response.on("error", () => {});
      resolve({ destroy: () => request.destroy() });
    });
    request.on("error", reject);
  });
}
