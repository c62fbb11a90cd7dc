// Limits are reported: a message that is too large is rejected with an error, and the session continues.
import { asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";

export const limits: readonly Requirement[] = [
  {
    id: "LIM-1",
    title:
      "a line that is too long is answered once, with invalid_message that names the limit, and the next line is served",
    source: "limits; hostile input",
    level: "must",
    transports: ["http", "websocket", "stdio"],
    async run({ agent }) {
      const peer = await agent();
      const answers = await peer.exchange(`{"type":"ping","id":"huge","padding":"${"x".repeat(9 * 1024 * 1024)}"}`);
      const answer = only(answers, "answer");
      // A host may accept lines of this length.
      if (answer.type === "pong") return;
      const { max_bytes } = asObject(checkError(answer, "invalid_message").detail, "detail");
      check(Number.isInteger(max_bytes), `detail should name the limit: ${JSON.stringify(answer.detail)}`);
      checkType(await peer.request("ping"), "pong");
    },
  },
  {
    id: "LIM-2",
    title: "an id that is too long to be remembered is refused, and not carried back",
    source: "limits; hostile input",
    level: "should",
    async run({ agent }) {
      const peer = await agent();
      const answer = only(await peer.exchange(JSON.stringify({ type: "ping", id: "i".repeat(100_000) })), "answer");
      checkError(answer, "schema_violation");
      check(JSON.stringify(answer).length < 10_000, "the answer should not repeat it");
    },
  },
  {
    id: "LIM-3",
    title: "a long string in a wrong place is not repeated in the error",
    source: "limits; hostile input",
    level: "should",
    async run({ agent }) {
      const peer = await agent();
      const long = "y".repeat(200_000);
      for (const line of [
        peer.line(long),
        peer.line("tool/call/req", { tool_name: long }),
        peer.line("tool/list/req", { filter_tags: long }),
        `{"type": ${long}`,
      ]) {
        const answer = only(await peer.exchange(line), "answer");
        checkEqual(answer.type, "error", "answer");
        check(JSON.stringify(answer).length < 10_000, `the error is ${JSON.stringify(answer).length} characters long`);
      }
    },
  },
  {
    id: "LIM-4",
    title: "a result that is too large is cut or refused, never lost",
    source: "limits",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const answer = await peer.call("conformance_echo", { value: "z".repeat(3 * 1024 * 1024) });
      if (answer.type === "error") return void checkError(answer, "tool_error");
      const result = asObject(checkType(answer, "tool/call/resp").data, "data");
      const isWhole = String(result.data).length === 3 * 1024 * 1024;
      checkEqual(result.truncated, !isWhole, "truncated");
    },
  },
];
