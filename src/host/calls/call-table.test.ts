import { expect, test } from "vitest";
import { A2EClient } from "../../client/client.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { createGate, probePlugin, type RawPeer, startRawHost } from "../session/raw-session.suite.ts";
import { CallTable } from "./call-table.ts";

/** A host whose calls say how often they ran, and what a repeated id is answered. */
async function startCounting(limits: object) {
  const runs = new Map<string, number>();
  const raw = await startRawHost(
    [
      probePlugin(({ name }) => {
        const count = (runs.get(name) ?? 0) + 1;
        runs.set(name, count);
        return { value: `${name} ${count}` };
      }),
    ],
    { limits },
  );
  return { raw, runs };
}

async function repeat(peer: RawPeer, id: string): Promise<unknown> {
  const before = peer.answers(id).length;
  peer.request(id, id);
  await peer.until(() => peer.answers(id).length > before);
  return peer.answers(id).at(-1)?.value;
}

test("the last maxRememberedAnswers are replayed; older ones are forgotten and run again", async () => {
  const { raw } = await startCounting({ maxRememberedAnswers: 3 });
  await using _ = raw;
  const peer = await raw.open();
  for (const id of ["a", "b", "c", "d"]) await peer.ask(id, id);
  expect(await repeat(peer, "d")).toBe("d 1");
  expect(await repeat(peer, "b")).toBe("b 1");
  expect(await repeat(peer, "a")).toBe("a 2");
  expect(await repeat(peer, "b")).toBe("b 2");
});

test("remembered answers take no more than maxRememberedBytes, and one that is larger is not remembered", async () => {
  const { raw } = await startCounting({ maxRememberedBytes: 600 });
  await using _ = raw;
  const peer = await raw.open();
  for (const id of ["a", "b"]) await peer.ask(id, id);
  expect(await repeat(peer, "a")).toBe("a 1");
  const long = "x".repeat(1_000);
  peer.request("long", long);
  await peer.answer("long");
  expect(await repeat(peer, "b")).toBe("b 2");
  peer.request("long", long);
  await peer.until(() => peer.answers("long").length === 2);
  expect(peer.answers("long")[1]?.value).toBe(`${long} 2`);
});

test("an agent in process has its own, smaller memory: maxRememberedMessages", async () => {
  const { raw } = await startCounting({ maxRememberedMessages: 2 });
  await using _ = raw;
  const session = raw.host.sessions.create();
  const transport = createDirectTransport(() => session);
  await using client = await A2EClient.connect({ transport, capabilities: ["test"] });
  const values: unknown[] = [];
  client.onPush("test/run/resp", ({ value }) => values.push(value));
  for (const id of ["a", "b", "c", "c", "b", "a"]) session.receiveMessage({ type: "test/run/req", id, name: id });
  expect(values).toEqual(["a 1", "b 1", "c 1", "c 1", "b 1", "a 2"]);
});

test("with nothing remembered every repetition runs again", async () => {
  const { raw } = await startCounting({ maxRememberedAnswers: 0 });
  await using _ = raw;
  const peer = await raw.open();
  await peer.ask("a", "a");
  expect(await repeat(peer, "a")).toBe("a 2");
});

test("calls in flight are not forgotten, however many answers are, and the count stays right", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run, ({ name }) => ({ value: name }))], {
    limits: { maxRememberedAnswers: 2 },
  });
  const peer = await raw.open();
  peer.request("slow", "slow");
  for (let count = 0; count < 2_000; count++) peer.request(`${count}`, "x", "test/other/req");
  await peer.answer("1999");
  expect(peer.session.pendingCalls).toBe(1);
  peer.request("slow", "slow");
  gate.release("slow");
  await peer.until(() => peer.answers("slow").length === 2);
  expect(gate.started).toEqual(["slow"]);
  expect(peer.session.pendingCalls).toBe(0);
});

test("an answer that was given twice before is remembered once, as it was last", () => {
  const table = new CallTable(defaultLimits);
  table.recover("one", "first");
  table.recover("one", "second");
  expect(table.inFlight).toBe(0);
  expect(table.get("one")).toBe("second");
});
