// Bad lines through a live host: no crash, no hang, and one answer to each line.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import type { Message } from "../protocol/envelope.ts";
import { defaultLimits } from "../protocol/limits.ts";
import { type RunningServer, startServer } from "../server/http-server.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createHostileLines, createRandom, type HostileLine } from "./hostile-lines.suite.ts";
import { createHttpLinks } from "./links/http.ts";
import { createWeb } from "./links/web.ts";
import { createReferenceTools, deniedToolName } from "./reference-tools.ts";
import { createTraffic } from "./traffic.ts";

const seed = Number(process.env.HOSTILE_SEED ?? 20_260_115);
const maxLineBytes = 64 * 1024;
const { maxIdLength } = defaultLimits;

/** Sends lines and waits until each has its answer; the next lines go out then. */
interface Channel {
  send(lines: readonly string[]): void;
  /** Non-event messages that have come since the last call, once there are `count` of them. */
  answers(count: number): Promise<Message[]>;
}

/** Defines a test in process with 80,000 lines and a test over HTTP with 24,000, each times `factor`. */
export function testHostileLines(factor: number): void {
  describe("hostile lines", () => {
    let host: A2EHost;
    let server: RunningServer;

    beforeAll(async () => {
      host = await A2EHost.start({
        // Bad handshakes are among the lines, and a session that ends after five of them would end the test.
        limits: { maxLineBytes, maxHandshakeAttempts: 1_000_000_000 },
        plugins: [
          toolsPlugin({
            builtin: false,
            tools: createReferenceTools().filter(({ name }) => name !== "conformance_wait"),
            deny: [deniedToolName],
          }),
        ],
        keeping: keepSessions,
        snapshots: createMemorySnapshotStore(),
      });
      server = await startServer(host, { port: 0 });
    });

    afterAll(async () => {
      await server.close();
      await host.close(0);
    });

    test(`each of ${80_000 * factor} lines in process is answered once`, {
      timeout: 180_000 + 600_000 * factor,
    }, async () => {
      const session = host.sessions.create();
      const inbox = new Inbox();
      const stop = new AbortController();
      const reading = (async () => {
        for await (const { line } of session.stream({ signal: stop.signal })) inbox.take(line);
      })();
      const channel: Channel = {
        send: (lines) => {
          for (const line of lines) session.receiveLine(line);
        },
        answers: (count) => inbox.next(count),
      };
      await shakeHands(channel);
      const baseline = await attack(channel, seed, 16_000 * factor);
      const grown = (await attack(channel, seed + 1, 64_000 * factor)) - baseline;
      await expectGoodCall(channel);
      // Four times the lines at most a little more memory: remembered answers and the outbound log are bounded.
      expect(grown).toBeLessThan(48 * 1024 * 1024);
      stop.abort();
      await reading;
      await session.close();
    });

    test(`each of ${24_000 * factor} lines over HTTP is answered once`, {
      timeout: 180_000 + 600_000 * factor,
    }, async () => {
      const web = createWeb(server.url, createTraffic(), 240_000);
      const inbox = new Inbox();
      const link = await createHttpLinks(web)({
        line: (line) => inbox.take(line),
        ended: (reason) => inbox.fail(reason),
      });
      const channel: Channel = { send: (lines) => link.write(lines.join("\n")), answers: (count) => inbox.next(count) };
      await shakeHands(channel);
      await attack(channel, seed + 2, 24_000 * factor);
      await expectGoodCall(channel);
      await link.close();
      web.close();
    });
  });
}

const batchSize = 400;

/** Returns the heap in use afterwards. */
async function attack(channel: Channel, fromSeed: number, count: number): Promise<number> {
  const next = createHostileLines(createRandom(fromSeed), { maxLineLength: maxLineBytes, maxIdLength });
  for (let sent = 0; sent < count; sent += batchSize) {
    const batch = Array.from({ length: Math.min(batchSize, count - sent) }, next);
    channel.send(batch.map(({ line }) => line));
    checkAnswers(batch, await channel.answers(batch.length), fromSeed);
  }
  return heapUsed();
}

function checkAnswers(batch: readonly HostileLine[], answers: readonly Message[], fromSeed: number): void {
  const owed = new Map<string, number>();
  for (const { id } of batch) if (id !== undefined) owed.set(id, (owed.get(id) ?? 0) + 1);
  let withoutId = batch.filter(({ id }) => id === undefined).length;
  for (const answer of answers) {
    const left = answer.req_id === undefined ? undefined : owed.get(answer.req_id);
    if (left === undefined) withoutId -= 1;
    else owed.set(answer.req_id as string, left - 1);
  }
  const nobodys = batch.filter(({ isNobodys }) => isNobodys).length;
  expect(answers.filter(({ type, req_id }) => type === "error" && req_id === undefined).length).toBeGreaterThanOrEqual(
    nobodys,
  );
  const wrong = [...owed].filter(([, left]) => left !== 0);
  if (wrong.length === 0 && withoutId === 0) return;
  const [id] = wrong[0] ?? [];
  const lines = batch.filter((line) => line.id === id).map(({ line }) => line.slice(0, 300));
  throw new Error(
    `seed ${fromSeed}: ${wrong.length} ids are not answered once each, for example ${JSON.stringify(id)}: ${lines.join(" | ")}`,
  );
}

async function shakeHands(channel: Channel): Promise<void> {
  channel.send(['{"type":"handshake/req","id":"hello","version":"1.0","agent_caps":["tools"]}']);
  expect((await channel.answers(1))[0]).toMatchObject({ type: "handshake/resp", ok: true });
}

async function expectGoodCall(channel: Channel): Promise<void> {
  channel.send([
    '{"type":"tool/call/req","id":"good","version":"1.0","tool_name":"conformance_echo","arguments":{"value":"still here"}}',
  ]);
  const [answer] = await channel.answers(1);
  expect(answer).toMatchObject({ type: "tool/call/resp", req_id: "good", data: { success: true, data: "still here" } });
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}

/** Collects answers and hands them out by the count; a silent host fails the test instead of hanging it. */
class Inbox {
  #answers: Message[] = [];
  #failure: string | undefined;
  #wake = () => {};

  take(line: string): void {
    const message = JSON.parse(line) as Message;
    if (message.type.endsWith("/event")) return;
    this.#answers.push(message);
    this.#wake();
  }

  fail(reason: string): void {
    this.#failure = reason;
    this.#wake();
  }

  async next(count: number): Promise<Message[]> {
    const deadline = Date.now() + 240_000;
    while (this.#answers.length < count && this.#failure === undefined) {
      if (Date.now() > deadline) throw new Error(`${this.#answers.length} of ${count} answers came`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1_000);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (this.#failure !== undefined) throw new Error(this.#failure);
    if (this.#answers.length > count)
      throw new Error(`${this.#answers.length} answers to ${count} lines: ${JSON.stringify(this.#answers.at(-1))}`);
    return this.#answers.splice(0);
  }
}

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}
