// The life of a call: run once, answered once, limited in number and time, and stopped on request.
import type { Message } from "../../../protocol/envelope.ts";
import { asObject, check, checkEqual, checkError, checkType, skip } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import { isEvent, type Peer, uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

/** Long enough never to end by itself while a requirement runs. */
const forever = 600_000;

function dataOf(answer: Message): unknown {
  return asObject(checkType(answer, "tool/call/resp").data, "data").data;
}

function startWaiting(peer: Peer, ms: number, fields: object = {}): string {
  return peer.post("tool/call/req", {
    tool_name: "conformance_wait",
    arguments: { ms },
    streaming: true,
    timeout: 600,
    ...fields,
  });
}

function hasStarted(peer: Peer, id: string): Promise<Message> {
  return peer.find((message) => message.req_id === id && isEvent(message), `first event of ${id}`);
}

async function cancelAll(peer: Peer, ids: readonly string[]): Promise<void> {
  for (const call_id of ids) peer.post("invoke/cancel/req", { call_id });
  for (const id of ids) await peer.answerTo(id);
}

export const calls: readonly Requirement[] = [
  {
    id: "CALL-1",
    title: "a request repeated under its id after the answer is not run again, and is answered again in the same words",
    source: "wire facts C23",
    level: "must",
    needs: { tools: ["conformance_count"] },
    async run({ agent }) {
      const peer = await agent();
      const line = peer.line("tool/call/req", { tool_name: "conformance_count", arguments: { key: uniqueKey(peer) } });
      const { id } = JSON.parse(line) as Message;
      peer.send(line);
      checkEqual(dataOf(await peer.answerTo(id)), { count: 1 }, "data");
      await peer.exchange(line, line);
      const answers = peer.answersTo(id);
      checkEqual(answers.length, 3, "number of answers");
      for (const answer of answers) checkEqual(answer, answers[0], "a repeated answer");
    },
  },
  {
    id: "CALL-2",
    title: "a request repeated while it runs is run once, and each repetition is answered",
    source: "wire facts C23",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ agent }) {
      const peer = await agent();
      const line = peer.line("tool/call/req", {
        tool_name: "conformance_wait",
        arguments: { ms: 50 },
        streaming: true,
      });
      const { id } = JSON.parse(line) as Message;
      peer.send(line, line);
      peer.send(line);
      checkEqual(dataOf(await peer.answerTo(id)), { waited_ms: 50 }, "data");
      await peer.exchange();
      checkEqual(peer.answersTo(id).length, 3, "number of answers");
      checkEqual(peer.eventsOf(id).length, 1, "number of events, one per run");
    },
  },
  {
    id: "CALL-3",
    title: "the same id in two sessions is two requests",
    source: "wire facts C23",
    level: "must",
    transports: ["direct", "http", "websocket"],
    needs: { tools: ["conformance_count"] },
    async run({ connect, token }) {
      const [one, other] = [await connect(), await connect()];
      await shakeHands(one, token);
      await shakeHands(other, token);
      const fields = { id: "shared-id", tool_name: "conformance_count", arguments: { key: uniqueKey(one) } };
      checkEqual(dataOf(await one.request("tool/call/req", fields)), { count: 1 }, "first");
      checkEqual(dataOf(await other.request("tool/call/req", fields)), { count: 2 }, "second");
    },
  },
  {
    id: "CALL-4",
    title: "a failed call is remembered like any other: its repetition is answered with the same error",
    source: "wire facts C23",
    level: "should",
    needs: { tools: ["conformance_fail"] },
    async run({ agent }) {
      const peer = await agent();
      const line = peer.line("tool/call/req", { tool_name: "conformance_fail", arguments: { message: "once" } });
      const { id } = JSON.parse(line) as Message;
      peer.send(line);
      const first = checkError(await peer.answerTo(id), "tool_error");
      await peer.exchange(line);
      checkEqual(peer.answersTo(id)[1], first, "second answer");
    },
  },
  {
    id: "CALL-5",
    title: "many calls at once are each answered once, under their own id",
    source: "direct transport tests (100 concurrent sends); client tests (routing by req_id)",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const ids = Array.from({ length: 150 }, () => peer.nextId());
      peer.send(
        ...ids.map((id) => peer.line("tool/call/req", { id, tool_name: "conformance_echo", arguments: { value: id } })),
      );
      for (const id of ids) checkEqual(dataOf(await peer.answerTo(id)), id, "echo");
      await peer.exchange();
      for (const id of ids) checkEqual(peer.answersTo(id).length, 1, `answers to ${id}`);
    },
  },
  {
    id: "CALL-6",
    title: "a slow call does not delay a quick call",
    source: "wire facts C10",
    level: "must",
    needs: { tools: ["conformance_wait", "conformance_echo"] },
    async run({ agent, survey }) {
      if (survey.maxParallel < 2) skip("the host runs one call at a time");
      const peer = await agent();
      const slow = startWaiting(peer, forever);
      await hasStarted(peer, slow);
      checkType(await peer.call("conformance_echo"), "tool/call/resp");
      checkEqual(peer.answersTo(slow), [], "answers to the slow call");
      await cancelAll(peer, [slow]);
    },
  },
  {
    id: "CALL-7",
    title: "no more than max_parallel calls run at once; the others wait and start in their order",
    source: "wire facts C10",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ agent, survey: { maxParallel } }) {
      const peer = await agent();
      const running = Array.from({ length: maxParallel }, () => startWaiting(peer, forever));
      const queued = Array.from({ length: 3 }, () => startWaiting(peer, forever));
      for (const id of running) await hasStarted(peer, id);
      await peer.exchange();
      for (const id of queued) checkEqual(peer.eventsOf(id), [], `events of call ${id}, which should wait`);
      for (const [index, id] of queued.entries()) {
        await cancelAll(peer, [running[index % maxParallel] as string]);
        running[index % maxParallel] = id;
        await hasStarted(peer, id);
        for (const later of queued.slice(index + 1))
          checkEqual(peer.eventsOf(later), [], `events of ${later}, which came later`);
      }
      await cancelAll(peer, running);
    },
  },
  {
    id: "CALL-8",
    title: "ping and handshake are served while every slot is taken",
    source: "wire facts C10",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ agent, token, survey: { maxParallel } }) {
      const peer = await agent();
      const ids = Array.from({ length: maxParallel + 1 }, () => startWaiting(peer, forever));
      await hasStarted(peer, ids[0] as string);
      checkType(await peer.request("ping"), "pong");
      await shakeHands(peer, token);
      await cancelAll(peer, ids.toReversed());
    },
  },
  {
    id: "CALL-9",
    title: "a host whose queue is full answers with rate_limited and a time in detail.retry_after_ms",
    source: "error codes page; wire facts C10",
    level: "should",
    needs: { tools: ["conformance_wait"] },
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const lines = Array.from({ length: 5_000 }, () =>
        peer.line("tool/call/req", { tool_name: "conformance_wait", arguments: { ms: forever }, timeout: 600 }),
      );
      peer.send(...lines);
      const refusal = checkError(
        await peer.find((message) => message.type === "error", "refusal among 5,000 calls"),
        "rate_limited",
      );
      const { retry_after_ms } = asObject(refusal.detail, "detail");
      check(
        Number.isInteger(retry_after_ms) && Number(retry_after_ms) > 0,
        `detail.retry_after_ms: ${JSON.stringify(refusal.detail)}`,
      );
      checkEqual(refusal.retryable, true, "retryable");
    },
  },
  {
    id: "CALL-10",
    title: "a call that outlasts its timeout is answered with timeout, once, and its slot is free again",
    source: "wire facts T3; error codes page",
    level: "must",
    needs: { tools: ["conformance_wait", "conformance_echo"] },
    async run({ agent, survey: { maxParallel } }) {
      const peer = await agent();
      const ids = Array.from({ length: maxParallel }, () => startWaiting(peer, forever, { timeout: 1 }));
      for (const id of ids) checkEqual(checkError(await peer.answerTo(id), "timeout").retryable, true, "retryable");
      checkType(await peer.call("conformance_echo"), "tool/call/resp");
      await peer.exchange();
      for (const id of ids) checkEqual(peer.answersTo(id).length, 1, "number of answers");
    },
  },
  {
    id: "CALL-11",
    title: "a running call is cancelled by its id: the call is answered with cancelled, the cancellation with true",
    source: "extension: invoke/cancel",
    level: "extension",
    needs: { tools: ["conformance_wait"] },
    async run({ agent }) {
      const peer = await agent();
      const id = startWaiting(peer, forever);
      await hasStarted(peer, id);
      const answer = checkType(
        await peer.request("invoke/cancel/req", { call_id: id, reason: "changed my mind" }),
        "invoke/cancel/resp",
      );
      checkEqual(answer.cancelled, true, "cancelled");
      const error = checkError(await peer.answerTo(id), "cancelled");
      check(
        String(error.message).includes("changed my mind"),
        `the message should give the reason, got "${error.message}"`,
      );
      await peer.exchange();
      checkEqual(peer.answersTo(id).length, 1, "number of answers");
    },
  },
  {
    id: "CALL-12",
    title: "a call that waits for a slot can be cancelled, and never starts",
    source: "extension: invoke/cancel",
    level: "extension",
    needs: { tools: ["conformance_wait"] },
    async run({ agent, survey: { maxParallel } }) {
      const peer = await agent();
      const running = Array.from({ length: maxParallel }, () => startWaiting(peer, forever));
      const waiting = startWaiting(peer, forever);
      checkEqual((await peer.request("invoke/cancel/req", { call_id: waiting })).cancelled, true, "cancelled");
      checkError(await peer.answerTo(waiting), "cancelled");
      await cancelAll(peer, running);
      await peer.exchange();
      checkEqual(peer.eventsOf(waiting), [], "events");
    },
  },
  {
    id: "CALL-13",
    title: "cancelling a call that is not in flight changes nothing and is answered with cancelled false",
    source: "extension: invoke/cancel",
    level: "extension",
    async run({ agent }) {
      const peer = await agent();
      const done = peer.post("tool/list/req");
      await peer.answerTo(done);
      for (const call_id of [done, "never-was"]) {
        checkEqual((await peer.request("invoke/cancel/req", { call_id })).cancelled, false, `cancelled of ${call_id}`);
      }
      checkError(await peer.request("invoke/cancel/req", {}), "schema_violation");
    },
  },
  {
    id: "CALL-14",
    title: "a cancelled call that is repeated under its id is not started again",
    source: "wire facts C23; extension: invoke/cancel",
    level: "extension",
    needs: { tools: ["conformance_wait"] },
    async run({ agent }) {
      const peer = await agent();
      const id = startWaiting(peer, forever);
      await hasStarted(peer, id);
      await cancelAll(peer, [id]);
      await peer.exchange(
        peer.line("tool/call/req", { id, tool_name: "conformance_wait", arguments: { ms: forever }, streaming: true }),
      );
      checkEqual(
        peer.answersTo(id).map(({ code }) => code),
        ["cancelled", "cancelled"],
        "answers",
      );
      checkEqual(peer.eventsOf(id).length, 1, "number of events, one per run");
    },
  },
  {
    id: "CALL-15",
    title: "a question to the agent is withdrawn by its id when the call that asked it is cancelled",
    source: "extension: invoke/withdrawn",
    level: "extension",
    needs: { capability: "chains" },
    async run({ agent }) {
      const peer = await agent();
      const id = peer.post("chain/req", { nodes: [{ node_id: "ok", kind: "approval", message: "Go?" }] });
      const ask = await peer.find(
        ({ type, run_id }) => type === "chain/approve/req" && run_id === id,
        "chain/approve/req",
      );
      await cancelAll(peer, [id]);
      const isWithdrawal = ({ type, ask_id }: Message) => type === "invoke/withdrawn" && ask_id === ask.id;
      const withdrawal = await peer.find(isWithdrawal, "invoke/withdrawn");
      check(!("req_id" in withdrawal), "a withdrawal answers nothing");
      checkError(
        await peer.answerTo(peer.post("chain/approve/resp", { req_id: ask.id, approved: true })),
        "invalid_message",
      );
    },
  },
];
