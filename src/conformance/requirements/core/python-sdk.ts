// An agent on the Python SDK works unchanged: it can decode every message, and every request gets an answer.
import { asObject, check, checkEqual, checkType } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import { isEvent } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";
import { decodeAsSdk, readStreamAsSdk } from "../../sdk-decoder.ts";

export const pythonSdk: readonly Requirement[] = [
  {
    id: "PY-1",
    title: "every line that the host has sent decodes with the SDK's models",
    source: "wire facts 3.13",
    level: "must",
    review({ received }) {
      for (const { line } of received) {
        const decoded = decodeAsSdk(line);
        // A docs peer receives the spelling that it used, which the SDK never sees.
        if (decoded.kind === "refused" && !isForDocsPeer(decoded.problems)) {
          check(false, `the SDK drops ${line.slice(0, 200)}: ${decoded.problems.join("; ")}`);
        }
      }
    },
  },
  {
    id: "PY-2",
    title: "the stream yields the same messages when it is read as the SDK's HTTP library reads it",
    source: "wire facts 3.13 (iter_lines, ISO-8859-1)",
    level: "must",
    transports: ["http"],
    review({ streams }) {
      for (const pieces of streams) {
        const bytes = Buffer.concat(pieces);
        const expected = bytes
          .toString("utf8")
          .split("\n")
          .filter((line) => line.startsWith("data: "))
          .map((line) => line.slice("data: ".length));
        for (const encoding of ["utf-8", "latin1"] as const) {
          const lines = readStreamAsSdk(bytes, encoding);
          checkEqual(lines.length, expected.length, `messages read as ${encoding}`);
          for (const [index, line] of lines.entries())
            check(line === expected[index], `read as ${encoding}: ${line.slice(0, 200)}`);
        }
      }
    },
  },
  {
    id: "PY-3",
    title: "before the answer to a request only events carry its req_id",
    source: "wire facts 3.13 (the first other message ends the call)",
    level: "must",
    review({ received }) {
      const answers = new Map<string, string>();
      for (const { session, message } of received) {
        if (message?.req_id === undefined || message.req_id === "" || isEvent(message)) continue;
        const key = `${session} ${message.req_id}`;
        const known = answers.get(key);
        check(
          known === undefined || known === message.type,
          `"${message.req_id}" was answered with ${known} and with ${message.type}`,
        );
        answers.set(key, message.type);
      }
    },
  },
  {
    id: "PY-4",
    title: "an agent on the SDK shakes hands, lists, calls with events, pings and leaves",
    source: "client tests",
    level: "must",
    needs: { tools: ["conformance_emit"] },
    async run({ connect, token }) {
      const peer = await connect();
      const hello = await shakeHands(peer, token, ["tools", "streaming", "artifacts"]);
      checkEqual(decodeAsSdk(JSON.stringify(hello)).kind, "message", "handshake/resp");
      checkType(
        await peer.request("tool/list/req", { filter_kind: "", filter_tags: [], query: "", include_deferred: false }),
        "tool/list/resp",
      );
      const fields = { session_id: hello.session_id, correlation_id: "", streaming: true, timeout: 30 };
      const answer = await peer.call("conformance_emit", { count: 3 }, fields);
      checkEqual(asObject(answer.data, "data").data, { count: 3 }, "data");
      checkType(await peer.request("ping"), "pong");
      peer.post("shutdown", { timeout: 10 });
      await peer.ended();
    },
  },
  {
    id: "PY-5",
    title: "a refused handshake can be decoded too, so that the SDK's client can report the reason",
    source: "wire facts C4, C8; client tests",
    level: "must",
    async run({ connect, token }) {
      const peer = await connect();
      const answer = await peer.request("handshake/req", {
        version: "2.0",
        agent_id: "a",
        agent_caps: ["tools"],
        auth_token: token,
      });
      checkEqual([decodeAsSdk(JSON.stringify(answer)).kind, answer.ok], ["message", false], "answer");
    },
  },
];

function isForDocsPeer(problems: readonly string[]): boolean {
  return problems.every((problem) => problem.startsWith("accepted_caps["));
}
