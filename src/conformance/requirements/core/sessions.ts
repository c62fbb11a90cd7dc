// The end of a session, the isolation of sessions from each other, and saving a session.
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import { isEvent } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

export const sessions: readonly Requirement[] = [
  {
    id: "SESS-1",
    title: "every session has an id of its own, which cannot be guessed",
    source: "wire facts C5",
    level: "must",
    async run({ connect, token }) {
      const first = await shakeHands(await connect(), token);
      const second = await shakeHands(await connect(), token);
      check(first.session_id !== second.session_id, `two sessions have the id ${first.session_id}`);
      check(String(first.session_id).length >= 22, `too short to be a secret: ${first.session_id}`);
    },
  },
  {
    id: "SESS-2",
    title: "answers go to the session that asked, and to no other",
    source: "sessions are isolated",
    level: "must",
    async run({ connect, token }) {
      const [one, other] = [await connect(), await connect()];
      await shakeHands(one, token);
      await shakeHands(other, token);
      const before = other.received.length;
      const id = one.post("tool/list/req", { id: "only-mine" });
      await one.answerTo(id);
      await other.exchange();
      checkEqual(
        other.received.slice(before).filter((message) => message.req_id === id),
        [],
        "messages in the other session",
      );
    },
  },
  {
    id: "SESS-3",
    title: "bad lines and full slots of a session do not affect another session",
    source: "sessions are isolated",
    level: "must",
    needs: { tools: ["conformance_wait", "conformance_echo"] },
    async run({ connect, token, survey: { maxParallel } }) {
      const [busy, other] = [await connect(), await connect()];
      await shakeHands(busy, token);
      await shakeHands(other, token);
      for (let count = 0; count < maxParallel + 2; count++)
        busy.post("tool/call/req", { tool_name: "conformance_wait", arguments: { ms: 600_000 } });
      busy.send("{broken", "[]", "null");
      checkType(await other.call("conformance_echo"), "tool/call/resp");
    },
  },
  {
    id: "SESS-4",
    title: "a shutdown lets calls in flight finish and delivers their answers",
    source: "wire facts C17; executor tests",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const id = peer.post("tool/call/req", { tool_name: "conformance_wait", arguments: { ms: 200 }, streaming: true });
      await peer.find((message) => message.req_id === id && isEvent(message), "first event");
      peer.post("shutdown", { timeout: 10 });
      checkType(await peer.answerTo(id), "tool/call/resp");
      await peer.ended();
    },
  },
  {
    id: "SESS-5",
    title: "a call that outlasts the timeout of a shutdown is answered with cancelled and named in session/closed",
    source: "wire facts C17; extension: session/closed",
    level: "extension",
    needs: { tools: ["conformance_wait"] },
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const id = peer.post("tool/call/req", {
        tool_name: "conformance_wait",
        arguments: { ms: 600_000 },
        streaming: true,
        timeout: 600,
      });
      await peer.find((message) => message.req_id === id && isEvent(message), "first event");
      peer.post("shutdown", { timeout: 0 });
      checkError(await peer.answerTo(id), "cancelled");
      const report = await peer.find(({ type }) => type === "session/closed", "session/closed");
      checkEqual([report.reason, report.cut_off], ["shutdown", [id]], "reason and cut_off");
      await peer.ended();
      checkEqual(peer.received.at(-1), report, "last message");
    },
  },
  {
    id: "SESS-6",
    title: "a shutdown without a timeout ends an idle session, with no answer but session/closed",
    source: "wire facts C17; base protocol tests (default timeout)",
    level: "must",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const id = peer.post("shutdown");
      await peer.ended();
      checkEqual(peer.answersTo(id), [], "answers to the shutdown");
    },
  },
  {
    id: "SESS-7",
    title: "after a shutdown new calls are not run",
    source: "executor tests (shutdown, not alive)",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const running = peer.post("tool/call/req", {
        tool_name: "conformance_wait",
        arguments: { ms: 200 },
        streaming: true,
      });
      await peer.find((message) => message.req_id === running && isEvent(message), "first event");
      peer.post("shutdown", { timeout: 10 });
      const late = peer.post("tool/call/req", { tool_name: "conformance_wait", arguments: { ms: 0 }, streaming: true });
      await peer.ended();
      checkEqual(peer.eventsOf(late), [], "events of the late call");
      for (const answer of peer.answersTo(late)) checkError(answer, "cancelled", "unauthorized");
      checkEqual(
        peer.answersTo(running).map(({ type }) => type),
        ["tool/call/resp"],
        "answers to the call in flight",
      );
    },
  },
  {
    id: "SESS-8",
    title: "a session is saved, listed and restored by session/snapshot, session/snapshots and session/restore",
    source: "extension: session/*",
    level: "extension",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      const saved = checkType(await peer.request("session/snapshot/req", { label: "first" }), "session/snapshot/resp");
      check(typeof saved.snapshot_id === "string" && saved.snapshot_id !== "", "snapshot_id should not be empty");
      const list = asArray(
        checkType(await peer.request("session/snapshots/req"), "session/snapshots/resp").snapshots,
        "snapshots",
      );
      checkEqual(
        list.map((entry) => [asObject(entry, "snapshots[]").snapshot_id, asObject(entry, "snapshots[]").label]),
        [[saved.snapshot_id, "first"]],
        "snapshots",
      );
      const restored = checkType(await peer.request("session/restore/req", {}), "session/restore/resp");
      checkEqual(restored.snapshot_id, saved.snapshot_id, "snapshot_id");
    },
  },
  {
    id: "SESS-9",
    title: "restoring a session that was never saved is answered with runtime_error that is not retryable",
    source: "extension: session/*",
    level: "extension",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token);
      for (const snapshot_id of ["", "no-such-snapshot", "../../etc/passwd"]) {
        checkEqual(
          checkError(await peer.request("session/restore/req", { snapshot_id }), "runtime_error").retryable,
          false,
          "retryable",
        );
      }
    },
  },
];
