import { getEventListeners } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { A2EClient } from "../../client/client.ts";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { createDeadlines } from "../../machinery/pacing/deadlines.ts";
import { plugin, type SessionContext } from "../../plugin/plugin.ts";
import { systemClock } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { ask, call, capability } from "../../protocol/table/capability.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { watchResources } from "../../testing/leaks.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { A2EHost } from "../host.ts";
import { startRawHost } from "../session/raw-session.suite.ts";
import { AgentAsks } from "./agent-asks.ts";

const question = ask("quiz/question/req", "quiz/question/resp", {
  doc: "Asks the agent.",
  request: z.object({ text: z.string() }),
  result: z.object({ answer: z.string() }),
  aliases: { "quiz/ask": "quiz/answer" },
  correlatedBy: "quiz_id",
  example: { request: { text: "why?" }, result: { answer: "because" } },
});

const quiz = capability("quiz", {
  doc: "Asks back.",
  calls: {
    start: call("quiz/start/req", "quiz/start/resp", {
      about: { access: "write" },
      doc: "Asks one question and returns the answer.",
      request: z.object({ text: z.string(), timeout_ms: z.number().optional() }),
      result: z.object({ answer: z.string() }),
      example: { request: { text: "why?" }, result: { answer: "because" } },
    }),
  },
  asks: { question },
});

function quizPlugin() {
  return plugin(quiz, {
    session: ({ ask }: SessionContext) => ({
      handlers: {
        start: ({ text, timeout_ms }, { signal }) =>
          ask(question, { text }, { signal, ...(timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }) }),
      },
    }),
  });
}

let host: A2EHost | undefined;
afterEach(async () => {
  await host?.close(0);
  host = undefined;
});

async function start(limits = {}) {
  host = await A2EHost.start({
    plugins: [quizPlugin()],
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    limits,
  });
  return host;
}

const connect = (to: A2EHost) =>
  A2EClient.connect({ transport: createDirectTransport(() => to.sessions.create()), capabilities: ["quiz"] });

describe("questions to the agent", () => {
  test("an agent that answers is heard by whoever asked", async () => {
    const client = await connect(await start());
    client.onAsk(question, ({ text }) => ({ answer: `${text} 42` }));
    expect(await client.rpc(quiz.calls.start, { text: "what?" })).toEqual({ answer: "what? 42" });
    await client.disconnect();
  });

  test("an agent without a handler says so, and one whose handler throws is quoted", async () => {
    const client = await connect(await start());
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({ code: "unknown_type" });
    const forget = client.onAsk(question, () => {
      throw new A2EError("forbidden", "my user said no");
    });
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({
      code: "forbidden",
      message: "my user said no",
    });
    forget();
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({ code: "unknown_type" });
    await client.disconnect();
  });

  test("a handler that answers in the wrong shape fails the question, not the session", async () => {
    const client = await connect(await start());
    client.onAsk(question, () => ({ answer: 42 }) as never);
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({ code: "runtime_error" });
    expect(await client.ping()).toBeGreaterThanOrEqual(0);
    await client.disconnect();
  });

  test("an agent that is silent costs a timeout", async () => {
    const client = await connect(await start());
    client.onAsk(question, () => new Promise(() => {}));
    await expect(client.rpc(quiz.calls.start, { text: "?", timeout_ms: 20 })).rejects.toMatchObject({
      code: "timeout",
    });
    await client.disconnect();
  });

  test("how long an agent may take by default is the host's to say", async () => {
    const client = await connect(await start({ askTimeoutMs: 20 }));
    client.onAsk(question, () => new Promise(() => {}));
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({
      code: "timeout",
      message: "the agent did not answer within 0.02 s",
    });
    await client.disconnect();
  });

  test("cancelling the call that asks ends the question", async () => {
    const client = await connect(await start());
    const controller = new AbortController();
    client.onAsk(question, () => {
      setImmediate(() => controller.abort());
      return new Promise(() => {});
    });
    const answer = client.rpc(quiz.calls.start, { text: "?" }, { signal: controller.signal });
    await expect(answer).rejects.toMatchObject({ code: "aborted" });
    expect(await client.ping()).toBeGreaterThanOrEqual(0);
    await client.disconnect();
  });

  test("an agent is told of a question that the host no longer waits for, and answers it no more", async () => {
    const client = await connect(await start());
    const withdrawn: unknown[] = [];
    client.onPush("*", ({ type, reason }) => void withdrawn.push([type, reason]));
    let answerLate = () => {};
    const isStopped = new Promise<void>((resolve) => {
      client.onAsk(question, (_, { signal }) => {
        signal.addEventListener("abort", () => resolve());
        return new Promise((answer) => {
          answerLate = () => answer({ answer: "too late" });
        });
      });
    });
    await expect(client.rpc(quiz.calls.start, { text: "?", timeout_ms: 20 })).rejects.toMatchObject({
      code: "timeout",
    });
    await isStopped;
    answerLate();
    await client.ping();
    expect(withdrawn).toEqual([["invoke/withdrawn", "the agent did not answer within 0.02 s"]]);
    await client.disconnect();
  });

  test("a question is withdrawn before the call that asked it is answered, by its own id and once", async () => {
    await using raw = await startRawHost([quizPlugin()]);
    const peer = await raw.open({ agent_caps: ["quiz"] });
    peer.send({ type: "quiz/start/req", id: "call", text: "?" });
    await peer.settle();
    const asked = peer.received.at(-2);
    peer.send({ type: "invoke/cancel/req", id: "cancel", call_id: "call" });
    await peer.answer("call");
    const told = peer.received.filter(({ type }) => type === "invoke/withdrawn" || type === "error");
    expect(told).toMatchObject([{ type: "invoke/withdrawn", ask_id: asked?.id }, { req_id: "call" }]);
    expect(told[0]).not.toHaveProperty("req_id");
  });

  test("no more than so many questions wait at once", async () => {
    const client = await connect(await start({ maxPendingAsks: 1 }));
    client.onAsk(question, () => new Promise(() => {}));
    const first = client.rpc(quiz.calls.start, { text: "?", timeout_ms: 50 });
    await expect(client.rpc(quiz.calls.start, { text: "?" })).rejects.toMatchObject({ code: "rate_limited" });
    await expect(first).rejects.toMatchObject({ code: "timeout" });
    await client.disconnect();
  });
});

describe("answers as peers write them", () => {
  const openRaw = async (raw: Awaited<ReturnType<typeof startRawHost>>, fields: object = {}) => {
    const peer = await raw.open({ agent_caps: ["quiz"], ...fields });
    peer.send({ type: "quiz/start/req", id: "call", text: "?" });
    await peer.until(() => peer.received.some(({ type }) => type.startsWith("quiz/")));
    return { peer, asked: peer.received.find(({ type }) => type.startsWith("quiz/")) as { id: string; type: string } };
  };

  test.each([
    ["by req_id", (id: string) => ({ type: "quiz/question/resp", req_id: id })],
    ["by the field of the table", (id: string) => ({ type: "quiz/question/resp", quiz_id: id })],
    ["typed as the question itself", (id: string) => ({ type: "quiz/question/req", quiz_id: id })],
    ["under the other name", (id: string) => ({ type: "quiz/answer", req_id: id })],
  ])("%s", async (_how, toAnswer) => {
    await using raw = await startRawHost([quizPlugin()]);
    const { peer, asked } = await openRaw(raw);
    expect(asked).toMatchObject({ type: "quiz/question/req", quiz_id: asked.id, text: "?" });
    peer.send({ id: "reply", answer: "yes", ...toAnswer(asked.id) });
    expect(await peer.answer("call")).toMatchObject({ type: "quiz/start/resp", answer: "yes" });
    expect(peer.answers("reply")).toEqual([]);
  });

  test("a peer of the documentation is asked under the name it knows", async () => {
    await using raw = await startRawHost([quizPlugin()]);
    const peer = raw.connect();
    peer.send({ type: "handshake/req", id: "hands", a2e: "1.0", agent_id: "agent", agent_caps: ["quiz"] });
    await peer.answer("hands");
    peer.send({ type: "quiz/start/req", id: "call", a2e: "1.0", text: "?" });
    await peer.until(() => peer.received.some(({ type }) => type === "quiz/ask"));
  });

  test("one that answers nothing is told so, as is one of the wrong shape", async () => {
    await using raw = await startRawHost([quizPlugin()]);
    const { peer, asked } = await openRaw(raw);
    peer.send({ type: "quiz/question/resp", id: "stray", req_id: "nobody", answer: "yes" });
    expect(await peer.answer("stray")).toMatchObject({ type: "error", code: "invalid_message" });
    peer.send({ type: "quiz/question/resp", id: "bad", req_id: asked.id, answer: 42 });
    expect(await peer.answer("bad")).toMatchObject({ type: "error", code: "schema_violation" });
    expect(await peer.answer("call")).toMatchObject({ type: "error", code: "runtime_error" });
    peer.send({ type: "quiz/question/resp", id: "late", req_id: asked.id, answer: "yes" });
    expect(await peer.answer("late")).toMatchObject({ type: "error", code: "invalid_message" });
  });

  test("a session that ends answers its questions with cancelled", async () => {
    await using raw = await startRawHost([quizPlugin()]);
    const { peer } = await openRaw(raw);
    await peer.session.close("gone");
    peer.read();
    expect(await peer.answer("call")).toMatchObject({ type: "error", code: "cancelled" });
  });
});

describe("plugins that ask at odd times", () => {
  const asking = (session: (context: SessionContext) => Promise<void>) =>
    plugin(quiz, {
      async session(context) {
        await session(context);
        return { handlers: { start: () => ({ answer: "" }) } };
      },
    });

  test("one that asks while it opens hears the answer, and whatever else came waits", async () => {
    let heard = "";
    const opening = asking(async ({ ask }) => {
      heard = (await ask(question, { text: "?" })).answer;
    });
    await using raw = await startRawHost([opening]);
    const peer = raw.connect();
    const hands = peer.shakeHands({ agent_caps: ["quiz"] });
    await peer.until(() => peer.received.some(({ type }) => type === question.type));
    const asked = peer.received.find(({ type }) => type === question.type);
    peer.send({ type: "quiz/start/req", id: "early", text: "?" });
    peer.send({ type: question.responseType, id: "reply", req_id: asked?.id, answer: "yes" });
    expect(await hands).toMatchObject({ ok: true });
    expect(heard).toBe("yes");
    expect(await peer.answer("early")).toMatchObject({ type: "quiz/start/resp" });
  });

  test("one that asks or calls again once its session is being cut off is refused, and one that does not wait hurts nobody", async () => {
    const outcomes: unknown[] = [];
    let isStarted = false;
    const stubborn = asking(async ({ ask, call }) => {
      setImmediate(async () => {
        isStarted = true;
        void ask(question, { text: "nobody waits" });
        for (let count = 0; count < 2; count++)
          outcomes.push(await ask(question, { text: "?" }).catch((error: A2EError) => error.code));
        outcomes.push(await call(quiz.calls.start, { text: "?" }).catch((error: A2EError) => error.code));
      });
    });
    await using raw = await startRawHost([stubborn]);
    const peer = await raw.open({ agent_caps: ["quiz"] });
    while (!isStarted) await new Promise((resolve) => setImmediate(resolve));
    await peer.session.close("gone");
    await new Promise((resolve) => setImmediate(resolve));
    expect(outcomes).toEqual(["cancelled", "cancelled", "cancelled"]);
  });
});

test("a question that cannot be sent fails at once, and takes nobody's place", async () => {
  const deadlines = createDeadlines();
  const scope = {
    limits: { ...defaultLimits, maxPendingAsks: 1 },
    sources: { clock: systemClock, nextId: () => "the same", random: Math.random, startedAt: 0 },
    session: { id: "session" },
    deadlines,
  };
  const asks = new AgentAsks(scope, () => {
    throw new Error("no JSON form");
  });
  const { signal } = new AbortController();
  const resources = watchResources();
  for (let count = 0; count < 2; count++) {
    await expect(asks.ask(question, { text: "?" }, { signal })).rejects.toMatchObject({
      code: "runtime_error",
      message: "the question cannot be sent: no JSON form",
    });
  }
  expect(getEventListeners(signal, "abort")).toEqual([]);
  deadlines.close();
  await resources.expectNothingLeft();
});
