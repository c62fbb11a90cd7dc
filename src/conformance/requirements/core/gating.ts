// Which messages are served: before the handshake hardly any, after it those of negotiated capabilities.
import { asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import { uniqueKey } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

export const gating: readonly Requirement[] = [
  {
    id: "GATE-1",
    title: "ping is served before the handshake",
    source: "wire facts C6; executor tests",
    level: "must",
    async run({ connect }) {
      const pong = checkType(await (await connect()).request("ping"), "pong");
      check(
        typeof pong.uptime_seconds === "number" && pong.uptime_seconds >= 0,
        `uptime_seconds: ${JSON.stringify(pong)}`,
      );
    },
  },
  {
    id: "GATE-2",
    title: "a call before the handshake is answered with unauthorized and not run",
    source: "wire facts C6; FAQ",
    level: "must",
    async run({ connect, token, survey }) {
      const peer = await connect();
      const count = { tool_name: "conformance_count", arguments: { key: uniqueKey(peer) } };
      checkError(await peer.request("tool/list/req"), "unauthorized");
      checkError(await peer.request("tool/call/req", count), "unauthorized");
      if (!survey.tools.has("conformance_count")) return;
      await shakeHands(peer, token);
      const answer = checkType(await peer.request("tool/call/req", count), "tool/call/resp");
      checkEqual(asObject(answer.data, "data").data, { count: 1 }, "runs so far");
    },
  },
  {
    id: "GATE-3",
    title: "the extensions are closed before the handshake too",
    source: "wire facts C6",
    level: "extension",
    async run({ connect }) {
      const peer = await connect();
      for (const type of [
        "invoke/cancel/req",
        "session/snapshot/req",
        "session/restore/req",
        "session/snapshots/req",
        "session/fork/req",
        "session/merge/req",
        "session/replay/req",
        "session/token/req",
      ]) {
        checkError(await peer.request(type, { call_id: "x" }), "unauthorized");
      }
    },
  },
  {
    id: "GATE-4",
    title: "a bad line before the handshake is answered once all the same",
    source: "wire facts C11, C6",
    level: "must",
    async run({ connect }) {
      const peer = await connect();
      checkError(only(await peer.exchange("{broken"), "answer"), "parse_error");
      checkError(only(await peer.exchange("[]"), "answer"), "invalid_message");
      checkError(only(await peer.exchange(peer.line("no/such/type")), "answer"), "unknown_type", "unauthorized");
    },
  },
  {
    id: "GATE-5",
    title: "a capability that was not negotiated answers capability_missing",
    source: "wire facts C6; FAQ",
    level: "must",
    async run({ connect, token }) {
      const peer = await connect();
      await shakeHands(peer, token, []);
      for (const type of ["tool/list/req", "tool/call/req"]) {
        const error = checkError(await peer.request(type, { tool_name: "x", arguments: {} }), "capability_missing");
        checkEqual(error.capability_name, "tools", "capability_name");
      }
    },
  },
  {
    id: "GATE-6",
    title: "a message of a capability that the host lacks is answered once, with an error that names the capability",
    source: "wire facts C6, C11",
    level: "must",
    needs: { missingCapability: true },
    async run({ agent, survey }) {
      const peer = await agent();
      const requests: Record<string, string> = {
        memory: "memory/retrieve/req",
        env: "env/reset/req",
        proc: "proc/spawn/req",
        planning: "planning/plan/list",
      };
      for (const name of survey.missing) {
        const type = requests[name];
        if (type !== undefined)
          checkError(only(await peer.exchange(peer.line(type)), "answer"), "unknown_type", "capability_missing");
      }
    },
  },
  {
    id: "GATE-7",
    title: "a handshake in a session opens no other session",
    source: "sessions are isolated",
    level: "must",
    async run({ connect, token }) {
      const [one, other] = [await connect(), await connect()];
      await shakeHands(one, token);
      checkError(await other.request("tool/list/req"), "unauthorized");
    },
  },
];
