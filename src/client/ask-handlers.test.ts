import { expect, test } from "vitest";
import * as z from "zod";
import { ask } from "../protocol/table/capability.ts";
import { A2EClient } from "./client.ts";
import { connectFake, FakePeer } from "./fake-transport.suite.ts";

const question = ask("quiz/question/req", "quiz/question/resp", {
  doc: "Asks the agent.",
  request: z.object({ text: z.string() }),
  result: z.object({ answer: z.string() }),
  example: { request: { text: "why?" }, result: { answer: "because" } },
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A peer that asks before it answers the handshake. */
function startAskingPeer() {
  const peer = new FakePeer();
  const { send } = peer.transport;
  peer.transport.send = (message) => {
    if (message.type === "handshake/req") peer.events.receive({ type: question.type, id: "early", text: "?" });
    send(message);
  };
  return peer;
}

test("a question that comes with the handshake is answered by the handler of the options", async () => {
  const peer = startAskingPeer();
  const client = await A2EClient.connect({
    transport: peer.transport,
    asks: (onAsk) => onAsk(question, ({ text }) => ({ answer: `${text}!` })),
  });
  await turn();
  expect(peer.sentOf(question.responseType)).toMatchObject([{ req_id: "early", answer: "?!" }]);
  await client.disconnect();
});

test("a question that comes with the handshake waits for a handler added after connect() resolves, and is answered once", async () => {
  const peer = startAskingPeer();
  const client = await A2EClient.connect({ transport: peer.transport });
  client.onAsk(question, () => ({ answer: "in time" }));
  peer.events.receive({ type: question.type, id: "early", text: "?" });
  await expect.poll(() => peer.sentOf(question.responseType)).toMatchObject([{ req_id: "early", answer: "in time" }]);
  await turn();
  expect(peer.sentOf()).toHaveLength(1);
  await client.disconnect();
});

test("a question that comes with the handshake is refused if no handler is added, unless it was withdrawn", async () => {
  const peer = startAskingPeer();
  const client = await A2EClient.connect({ transport: peer.transport });
  peer.events.receive({ type: question.type, id: "withdrawn", text: "?" });
  peer.say("invoke/withdrawn", { ask_id: "withdrawn", reason: "took too long" });
  await expect.poll(() => peer.sentOf("error")).toMatchObject([{ req_id: "early", code: "unknown_type" }]);
  await turn();
  expect(peer.sentOf()).toHaveLength(1);
  await client.disconnect();
});

test("a question that comes again is answered again and not put to the handler again", async () => {
  const { peer, client } = await connectFake();
  let count = 0;
  let finish = () => {};
  client.onAsk(question, async () => {
    count += 1;
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    return { answer: String(count) };
  });
  const asked = { type: question.type, id: "ask", text: "?" };
  peer.events.receive({ ...asked });
  peer.events.receive({ ...asked });
  finish();
  await turn();
  peer.events.receive({ ...asked });
  await turn();
  const [first, second, ...others] = peer.sentOf(question.responseType);
  expect(first).toMatchObject({ req_id: "ask", answer: "1" });
  expect(second).toEqual(first);
  expect(others).toEqual([]);
  await client.disconnect();
});

test("answers that a cut link may have lost are given again, and a host that had them is not passed on", async () => {
  const { peer, client } = await connectFake();
  const pushed: string[] = [];
  client.onPush("*", ({ type, req_id }) => void pushed.push(`${type} ${req_id}`));
  client.onAsk(question, () => ({ answer: "yes" }));
  for (let count = 0; count < 20; count++) peer.events.receive({ type: question.type, id: `ask-${count}`, text: "?" });
  await turn();
  peer.sent.length = 0;
  peer.events.restored();
  const repeated = peer.sentOf(question.responseType);
  expect(repeated.map(({ req_id }) => req_id)).toEqual(Array.from({ length: 16 }, (_, index) => `ask-${index + 4}`));

  peer.answer(repeated[0] as never, "error", { code: "invalid_message", message: "nobody asked" });
  peer.say("error", { req_id: "something else", code: "invalid_message", message: "?" });
  expect(pushed).toEqual(["error something else"]);
  await client.disconnect();
});

test("a question that was withdrawn stops its handler alone, is not answered, and is not put to it again", async () => {
  const { peer, client } = await connectFake();
  const signals = new Map<string, AbortSignal>();
  const finish: (() => void)[] = [];
  client.onAsk(question, async ({ text }, { signal }) => {
    signals.set(text, signal);
    await new Promise<void>((resolve) => finish.push(resolve));
    return { answer: text };
  });
  for (const text of ["first", "second"]) peer.events.receive({ type: question.type, id: text, text });
  peer.say("invoke/withdrawn", { ask_id: "first", reason: "took too long" });
  peer.say("invoke/withdrawn", { ask_id: "unheard of" });
  expect(signals.get("first")?.reason).toMatchObject({ code: "cancelled", message: "took too long" });
  expect(signals.get("second")?.aborted).toBe(false);
  for (const end of finish) end();
  await turn();
  peer.events.receive({ type: question.type, id: "first", text: "again" });
  peer.events.restored();
  expect(signals.has("again")).toBe(false);
  expect(peer.sentOf(question.responseType).map(({ req_id }) => req_id)).toEqual(["second", "second"]);
  await client.disconnect();
});

test("an answer without a JSON form is an error to the host, not silence", async () => {
  const { peer, client } = await connectFake();
  const open = ask("quiz/open/req", "quiz/open/resp", {
    doc: "Asks for anything.",
    request: z.object({}),
    result: z.object({ answer: z.unknown() }),
    example: { request: {}, result: { answer: 1 } },
  });
  let finish = () => {};
  const isFinished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  client.onAsk(open, async () => {
    await isFinished;
    return { answer: 1n };
  });
  const { send } = peer.transport;
  peer.transport.send = (message) => {
    JSON.stringify(message);
    send(message);
  };
  // More than are remembered: the first to be answered is the first to be forgotten.
  const ids = Array.from({ length: 20 }, (_, at) => `ask ${at}`);
  for (const id of ids) peer.events.receive({ type: open.type, id });
  finish();
  await turn();
  expect(peer.sentOf("error")).toMatchObject(ids.map((req_id) => ({ req_id, code: "runtime_error" })));
  await client.disconnect();
});
