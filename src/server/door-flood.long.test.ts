// Peers without a credential ask for sessions as fast as they can, while an agent with a key connects and works.
import { Agent, request } from "node:http";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { startGatedHost } from "../compose/gated-host.suite.ts";
import { RawAgent, wires } from "../compose/raw-agent.suite.ts";
import { startServer } from "./http-server.ts";

const posts = 20_000;
const sockets = 2_000;
const inFlight = 64;

/** Repeats `work` a number of times, with several under way. */
async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  let started = 0;
  const worker = async () => {
    while (started < times) {
      started += 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
}

function postSession(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/session`, { method: "POST", agent }, (response) => {
      response.resume().on("end", resolve);
    });
    sent.on("error", reject).end();
  });
}

/** Opens a WebSocket and leaves its session waiting; the host may close it to make room. */
function openSocket(url: string, opened: WebSocket[]): Promise<void> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
    opened.push(socket);
    socket.on("open", () => resolve()).on("error", () => resolve());
  });
}

test("20,000 sessions without a credential neither keep an agent with a key out nor end its sessions", async () => {
  const limits = { maxSessions: 50 };
  const gated = await startGatedHost({ limits });
  const server = await startServer(gated.host, { port: 0 });
  const { key } = gated.keys.create({ id: "right", roles: ["agent"] });
  const connect = async (wire: "HTTP" | "WebSocket") => {
    const agent = await RawAgent.open((wires[wire] as (typeof wires)[string])(gated.host, server.url, key));
    expect(await agent.shakeHands(key, ["memory"])).toMatchObject({ ok: true });
    return agent;
  };
  const early = [await connect("HTTP"), await connect("WebSocket")];
  const connections = new Agent({ keepAlive: true, maxSockets: inFlight });
  const opened: WebSocket[] = [];
  let isFlooding = true;
  const flood = Promise.all([
    repeat(posts, () => postSession(server.url, connections)),
    repeat(sockets, () => openSocket(server.url, opened)),
  ]).finally(() => {
    isFlooding = false;
  });

  let worked = 0;
  while (isFlooding) {
    const late = await connect(worked % 2 === 0 ? "HTTP" : "WebSocket");
    for (const agent of [...early, late]) {
      expect((await agent.ask("memory/init/req", {})).code).toBeUndefined();
      worked += 1;
    }
    await late.close();
    expect(gated.host.sessions.size).toBeLessThanOrEqual(limits.maxSessions + gated.host.limits.maxUnopenedSessions);
  }
  await flood;

  expect(worked).toBeGreaterThan(30);
  expect(gated.runs).toHaveLength(worked);
  for (const agent of early) await agent.close();
  connections.destroy();
  for (const socket of opened) socket.terminate();
  await gated[Symbol.asyncDispose]();
  await server.close(0);
});
