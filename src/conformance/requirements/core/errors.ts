// Every bad line is answered once, with the matching code, and the session continues.
import type { Message } from "../../../protocol/envelope.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import type { Peer } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

/** Sends a bad line and asserts that it causes exactly one error without req_id. */
async function refusedWithoutId(peer: Peer, line: string, code: string): Promise<void> {
  const error = checkError(only(await peer.exchange(line), `answer to ${line.slice(0, 60)}`), code);
  check(error.req_id === undefined || error.req_id === "", `expected no req_id, got "${error.req_id}"`);
}

/** Sends a bad message and asserts that it causes exactly one error with its id. */
async function refused(peer: Peer, fields: Record<string, unknown>, ...codes: string[]): Promise<Message> {
  const id = peer.nextId();
  const line = JSON.stringify({ id, version: "1.0", ...fields });
  const error = checkError(only(await peer.exchange(line), `answer to ${line.slice(0, 100)}`), ...codes);
  checkEqual(error.req_id, id, "req_id");
  return error;
}

function checkNames(error: Message, path: string): void {
  const issues = asArray(asObject(error.detail, "detail").issues, "detail.issues").map((issue) =>
    asObject(issue, "detail.issues[]"),
  );
  check(
    issues.some((issue) => issue.path === path),
    `detail.issues should name "${path}", got ${JSON.stringify(issues)}`,
  );
  check(
    String(error.message).includes(path.split(".").at(-1) as string),
    `the message should name "${path}", got "${error.message}"`,
  );
}

export const errors: readonly Requirement[] = [
  {
    id: "ERR-1",
    title: "a line that is not JSON is answered with one parse_error without req_id",
    source: "wire facts C11",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const line of [
        "not json",
        "{",
        '{"type":"ping"',
        '{"type":"ping",}',
        "{'type':'ping'}",
        "undefined",
        "}{",
        '"open',
        "nul",
        "0x10",
      ]) {
        await refusedWithoutId(peer, line, "parse_error");
      }
    },
  },
  {
    id: "ERR-2",
    title: "a message cut anywhere is answered with one parse_error, and the next line is served",
    source: "wire facts C11",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const line = JSON.stringify({
        type: "tool/list/req",
        id: "cut",
        version: "1.0",
        filter_tags: ["a"],
        note: "é😀",
      });
      const lines = Array.from({ length: line.length - 1 }, (_, end) => line.slice(0, end + 1));
      const answers = await peer.exchange(...lines);
      checkEqual(answers.length, lines.length, "number of answers");
      for (const answer of answers) checkError(answer, "parse_error");
    },
  },
  {
    id: "ERR-3",
    title: "a JSON array is answered with invalid_message, not run as a batch",
    source: "wire facts C13",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const line of ["[]", '[{"type":"ping","id":"in-array"}]', "[1,2,3]"])
        await refusedWithoutId(peer, line, "invalid_message");
    },
  },
  {
    id: "ERR-4",
    title: "a JSON scalar is answered with invalid_message",
    source: "wire facts C13",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const line of ["42", '"ping"', "null", "true", "-0.5e3"])
        await refusedWithoutId(peer, line, "invalid_message");
    },
  },
  {
    id: "ERR-5",
    title: "an unknown type is answered with one unknown_type",
    source: "wire facts C11, C12; executor tests",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const type of [
        "no/such/type",
        "PING",
        "tool/call/REQ",
        "ping ",
        "toString",
        "__proto__",
        "t".repeat(5_000),
      ]) {
        await refused(peer, { type }, "unknown_type");
      }
    },
  },
  {
    id: "ERR-6",
    title: "a missing or wrong type is answered with schema_violation that names it",
    source: "wire facts C11",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const fields of [{}, { type: "" }, { type: 5 }, { type: null }, { type: ["ping"] }]) {
        checkNames(await refused(peer, fields, "schema_violation"), "type");
      }
    },
  },
  {
    id: "ERR-7",
    title: "a field of the wrong shape is answered with schema_violation that names the field",
    source: "wire facts C11",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const wrong: [string, Record<string, unknown>, string][] = [
        ["tool/list/req", { filter_tags: "files" }, "filter_tags"],
        ["tool/list/req", { include_deferred: "maybe" }, "include_deferred"],
        ["tool/list/req", { query: 7 }, "query"],
        ["tool/call/req", { tool_name: ["x"] }, "tool_name"],
        ["tool/call/req", { tool_name: "x", arguments: "none" }, "arguments"],
        ["tool/call/req", { tool_name: "x", arguments: [] }, "arguments"],
        ["tool/call/req", { tool_name: "x", timeout: "soon" }, "timeout"],
        ["handshake/req", { agent_caps: "tools" }, "agent_caps"],
        ["handshake/req", { agent_id: {} }, "agent_id"],
      ];
      for (const [type, fields, path] of wrong)
        checkNames(await refused(peer, { type, ...fields }, "schema_violation"), path);
    },
  },
  {
    id: "ERR-8",
    title: "every bad field is named at once, with its place in arrays",
    source: "wire facts C11",
    level: "should",
    async run({ agent }) {
      const peer = await agent();
      const error = await refused(
        peer,
        { type: "tool/list/req", filter_tags: ["a", 2], query: false },
        "schema_violation",
      );
      checkNames(error, "filter_tags[1]");
      checkNames(error, "query");
    },
  },
  {
    id: "ERR-9",
    title: "an id that is not text is answered once, with schema_violation that names it",
    source: "wire facts C2, C11",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const id of ["7", "{}", "[1]", "true", "1.5"]) {
        const error = checkError(only(await peer.exchange(`{"type":"ping","id":${id}}`), "answer"), "schema_violation");
        checkNames(error, "id");
      }
    },
  },
  {
    id: "ERR-10",
    title: "a message that only a host sends is answered with invalid_message",
    source: "wire facts C12, C13",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const types = [
        "pong",
        "error",
        "handshake/resp",
        "invoke/event",
        "tool/event",
        "tool/list/resp",
        "tool/call/resp",
      ];
      for (const type of types) await refused(peer, { type, req_id: "1", code: "x", data: {} }, "invalid_message");
    },
  },
  {
    id: "ERR-11",
    title: "responses and pushes of the extensions are refused in the same way",
    source: "wire facts C13",
    level: "extension",
    async run({ agent }) {
      const peer = await agent();
      const types = [
        "invoke/cancel/resp",
        "invoke/withdrawn",
        "session/snapshot/resp",
        "session/restore/resp",
        "session/snapshots/resp",
        "session/closed",
        "session/gap",
        "session/resumed",
        "tool/changed",
        "mcp/list_tools/resp",
        "mcp/call_tool/resp",
      ];
      for (const type of types) await refused(peer, { type }, "invalid_message");
    },
  },
  {
    id: "ERR-12",
    title: "every error has its five fields, its code in lower case",
    source: "wire facts C15, C16; base protocol tests",
    level: "must",
    review({ received }) {
      for (const { message } of received) {
        if (message?.type !== "error") continue;
        const { code, message: text, detail, retryable, capability_name } = message;
        const found = JSON.stringify(message);
        check(typeof code === "string" && /^[a-z][a-z0-9_]*$/.test(code), `code: ${found}`);
        check(typeof text === "string" && text !== "", `message: ${found}`);
        check(typeof detail === "object" && detail !== null && !Array.isArray(detail), `detail: ${found}`);
        check(
          typeof retryable === "boolean" && typeof capability_name === "string",
          `retryable, capability_name: ${found}`,
        );
      }
    },
  },
  {
    id: "ERR-13",
    title: "retryable is true for timeout and rate_limited, false for errors that a repetition cannot fix",
    source: "wire facts C16; error codes page",
    level: "should",
    review({ received }) {
      const expected = new Map([
        ...["timeout", "rate_limited"].map((code) => [code, true] as const),
        ...["parse_error", "invalid_message", "schema_violation", "unknown_type", "version_mismatch"].map(
          (code) => [code, false] as const,
        ),
        ...["unauthorized", "capability_missing", "unknown_tool", "tool_denied"].map((code) => [code, false] as const),
      ]);
      for (const { message } of received) {
        const retryable = message?.type === "error" ? expected.get(String(message.code)) : undefined;
        if (retryable !== undefined) checkEqual(message?.retryable, retryable, `retryable of ${message?.code}`);
      }
    },
  },
  {
    id: "ERR-14",
    title: "a line of a thousand levels is answered with an error, and so is a line of a hundred thousand",
    source: "hostile input",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      for (const depth of [1_000, 100_000]) {
        const id = peer.nextId();
        const value = "[".repeat(depth) + "]".repeat(depth);
        peer.send(
          `{"type":"tool/call/req","id":"${id}","version":"1.0","tool_name":"conformance_echo","arguments":{"value":${value}}}`,
        );
        checkEqual((await peer.answerTo(id)).type, "error", `answer to ${depth} levels`);
      }
    },
  },
  {
    id: "ERR-15",
    title: "a hundred bad lines get a hundred answers in order, and a good line after them its own",
    source: "wire facts C12, C13",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const ids = Array.from({ length: 50 }, () => peer.nextId());
      const answers = await peer.exchange(
        ...ids.flatMap((id) => ["{broken", JSON.stringify({ type: "no/such", id, version: "1.0" })]),
      );
      checkEqual(answers.length, 100, "number of answers");
      checkEqual(
        answers.filter((answer) => answer.req_id !== undefined && answer.req_id !== "").map((answer) => answer.req_id),
        ids,
        "req_ids",
      );
      checkType(await peer.request("tool/list/req"), "tool/list/resp");
    },
  },
  {
    id: "ERR-16",
    title: "errors of a capability name it in capability_name",
    source: "wire facts C16",
    level: "should",
    async run({ agent }) {
      const peer = await agent();
      const error = checkError(await peer.call("no_such_tool_at_all"), "unknown_tool");
      checkEqual(error.capability_name, "tools", "capability_name");
    },
  },
  {
    id: "ERR-17",
    title: "a shutdown whose timeout is not a number is answered with schema_violation, and the session continues",
    source: "wire facts C11",
    level: "should",
    async run({ connect, token }) {
      const peer = await connect();
      await peer.request("handshake/req", { agent_id: "conformance", agent_caps: ["tools"], auth_token: token });
      checkNames(await refused(peer, { type: "shutdown", timeout: "now" }, "schema_violation"), "timeout");
      checkType(await peer.request("tool/list/req"), "tool/list/resp");
    },
  },
];
