// Events of a call: numbered, its own, and all before the answer.
import { asArray, asObject, check, checkEqual, checkType } from "../../check.ts";
import { isEvent } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

export const events: readonly Requirement[] = [
  {
    id: "EVT-1",
    title:
      "events carry the req_id of their call, their kind and an object, and come in the order in which they were emitted",
    source: "events integration tests; wire facts C30",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      const id = peer.post("tool/call/req", {
        tool_name: "conformance_emit",
        arguments: { count: 25 },
        streaming: true,
      });
      checkType(await peer.answerTo(id), "tool/call/resp");
      const found = peer.eventsOf(id);
      checkEqual(
        found.map((event) => event.data),
        Array.from({ length: 25 }, (_, index) => ({ index: index + 1 })),
        "data",
      );
      for (const event of found) checkEqual([event.type, event.kind], ["tool/event", "progress"], "type and kind");
    },
  },
  {
    id: "EVT-2",
    title: "seq counts the events of a call from 1",
    source: "wire facts C30",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      for (const count of [3, 12]) {
        const id = peer.post("tool/call/req", { tool_name: "conformance_emit", arguments: { count }, streaming: true });
        await peer.answerTo(id);
        checkEqual(
          peer.eventsOf(id).map(({ seq }) => seq),
          Array.from({ length: count }, (_, index) => index + 1),
          "seq",
        );
      }
    },
  },
  {
    id: "EVT-3",
    title: "every event of a call comes before its answer",
    source: "wire facts 3.13, C26; events integration tests",
    level: "must",
    review({ received }) {
      const answered = new Set<string>();
      for (const { session, message } of received) {
        if (message?.req_id === undefined || message.req_id === "") continue;
        // A process continues after the answer to its spawn: PROC-2 checks its events.
        if (message.type === "proc/read/event") continue;
        const key = `${session} ${message.req_id}`;
        if (isEvent(message)) check(!answered.has(key), `an event came after the answer: ${JSON.stringify(message)}`);
        else answered.add(key);
      }
    },
  },
  {
    id: "EVT-4",
    title: "events of calls that run side by side carry their own req_id and seq",
    source: "wire facts T5",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      const ids = Array.from({ length: 6 }, () => peer.nextId());
      peer.send(
        ...ids.map((id) =>
          peer.line("tool/call/req", {
            id,
            tool_name: "conformance_emit",
            arguments: { count: 30, data: { of: id } },
            streaming: true,
          }),
        ),
      );
      for (const id of ids) {
        await peer.answerTo(id);
        const found = peer.eventsOf(id);
        checkEqual(
          found.map(({ seq }) => seq),
          Array.from({ length: 30 }, (_, index) => index + 1),
          "seq",
        );
        for (const event of found) checkEqual(event.data, { of: id }, "data");
      }
    },
  },
  {
    id: "EVT-5",
    title: "a call that does not ask for a stream sends no events; they are in its result",
    source: "wire facts T3",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      for (const fields of [{ streaming: false }, {}]) {
        const id = peer.post("tool/call/req", { tool_name: "conformance_emit", arguments: { count: 3 }, ...fields });
        const result = asObject(checkType(await peer.answerTo(id), "tool/call/resp").data, "data");
        await peer.exchange();
        checkEqual(peer.eventsOf(id), [], "events on the wire");
        const kept = asArray(result.events, "data.events").map((event) => asObject(event, "data.events[]"));
        checkEqual(
          kept.map(({ seq, data }) => [seq, data]),
          [1, 2, 3].map((index) => [index, { index }]),
          "data.events",
        );
      }
    },
  },
  {
    id: "EVT-6",
    title: "every kind of event passes: progress, artifact, log, status",
    source: "base protocol tests (every EventKind accepted)",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      for (const kind of ["progress", "artifact", "log", "status"]) {
        const id = peer.post("tool/call/req", {
          tool_name: "conformance_emit",
          arguments: { count: 1, kind },
          streaming: true,
        });
        await peer.answerTo(id);
        checkEqual(
          peer.eventsOf(id).map((event) => event.kind),
          [kind],
          "kinds",
        );
      }
    },
  },
  {
    id: "EVT-7",
    title: "event data that is not an object is wrapped in an object",
    source: "wire facts 3.13",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ agent }) {
      const peer = await agent();
      for (const data of ["text", 7, null, [1, 2]]) {
        for (const streaming of [true, false]) {
          const id = peer.post("tool/call/req", {
            tool_name: "conformance_emit",
            arguments: { count: 1, data },
            streaming,
          });
          const answer = checkType(await peer.answerTo(id), "tool/call/resp");
          const [event] = streaming ? peer.eventsOf(id) : asArray(asObject(answer.data, "data").events, "data.events");
          asObject(asObject(event as never, "event").data, "data of the event");
        }
      }
    },
  },
  {
    id: "EVT-8",
    title: "a failing call ends in its error; the events before it are delivered",
    source: "client tests (events before an error are collected)",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ agent }) {
      const peer = await agent();
      const id = peer.post("tool/call/req", {
        tool_name: "conformance_wait",
        arguments: { ms: 60_000 },
        streaming: true,
        timeout: 1,
      });
      checkEqual((await peer.answerTo(id)).type, "error", "answer");
      checkEqual(peer.eventsOf(id).length, 1, "number of events");
    },
  },
];
