// The tools capability: listing, searching, calling, refusing.
import type { Message } from "../../protocol/envelope.ts";
import { coreErrors } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, skip } from "../check.ts";
import type { Peer } from "../peer.ts";
import { deniedToolName } from "../reference-tools.ts";
import type { Requirement } from "../requirement.ts";

async function list(peer: Peer, fields: object = {}): Promise<JsonObject[]> {
  const answer = checkType(await peer.request("tool/list/req", fields), "tool/list/resp");
  return asArray(answer.tools, "tools").map((tool) => asObject(tool, "tools[]"));
}

function namesOf(tools: readonly JsonObject[]): string[] {
  return tools.map(({ name }) => String(name));
}

function resultOf(answer: Message, type = "tool/call/resp"): JsonObject {
  return asObject(checkType(answer, type).data, "data");
}

export const tools: readonly Requirement[] = [
  {
    id: "TOOL-1",
    title: "a tool is listed with its parameters in the SDK's shape and a JSON Schema beside them",
    source: "wire facts T2; tools tests",
    level: "must",
    needs: { tools: ["conformance_wait"] },
    async run({ agent }) {
      const tool = (await list(await agent())).find(({ name }) => name === "conformance_wait") ?? skip("not listed");
      const [parameter] = asArray(tool.input_parameters, "input_parameters").map((entry) =>
        asObject(entry, "input_parameters[]"),
      );
      checkEqual(
        [parameter?.name, parameter?.type, parameter?.required],
        ["ms", "integer", true],
        "name, type and required",
      );
      check(typeof parameter?.description === "string", "description should be text");
      const schema = asObject(tool.input_schema, "input_schema");
      checkEqual([schema.type, schema.required], ["object", ["ms"]], "input_schema");
      checkEqual(tool.tags, ["conformance"], "tags");
    },
  },
  {
    id: "TOOL-2",
    title: "filter_kind and filter_tags hold without a query too, and tags must all be there",
    source: "wire facts T1",
    level: "must",
    needs: { tools: ["conformance_echo", "conformance_fail"] },
    async run({ agent }) {
      const peer = await agent();
      checkEqual(namesOf(await list(peer, { filter_kind: "conformance" })), ["conformance_fail"], "filter_kind");
      checkEqual(namesOf(await list(peer, { filter_tags: ["conformance", "echo"] })), ["conformance_echo"], "two tags");
      checkEqual(namesOf(await list(peer, { filter_tags: ["echo", "events"] })), [], "tags that no tool has together");
      checkEqual(namesOf(await list(peer, { filter_kind: "no-such-kind" })), [], "a kind that no tool has");
    },
  },
  {
    id: "TOOL-3",
    title: "a query searches names, descriptions and tags, and filters hold with it",
    source: "wire facts T1",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      checkEqual(namesOf(await list(peer, { query: "conformance_echo" }))[0], "conformance_echo", "first by name");
      check(
        namesOf(await list(peer, { query: "returns the value" })).includes("conformance_echo"),
        "should be found by its description",
      );
      check(namesOf(await list(peer, { query: "ECHO" })).includes("conformance_echo"), "case should not matter");
      checkEqual(
        namesOf(await list(peer, { query: "conformance_echo", filter_tags: ["events"] })),
        [],
        "query and filter",
      );
      checkEqual(namesOf(await list(peer, { query: "qwertzuiopü no tool says this" })), [], "no match");
    },
  },
  {
    id: "TOOL-4",
    title: "a deferred tool is left out of lists, found by a query or by include_deferred, and can be called",
    source: "wire facts T1",
    level: "must",
    needs: { tools: ["conformance_deferred"] },
    async run({ agent }) {
      const peer = await agent();
      check(!namesOf(await list(peer)).includes("conformance_deferred"), "should not be in a plain list");
      check(
        namesOf(await list(peer, { include_deferred: true })).includes("conformance_deferred"),
        "should be there with include_deferred",
      );
      checkEqual(namesOf(await list(peer, { query: "xylophone" })), ["conformance_deferred"], "found by a query");
      checkEqual(resultOf(await peer.call("conformance_deferred")).success, true, "success");
    },
  },
  {
    id: "TOOL-5",
    title: "a result has success, tool_name, data and a whole number of milliseconds, and a time of creation",
    source: "wire facts T4; tools tests",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const answer = await (await agent()).call("conformance_echo", { value: { a: 1 } });
      const result = resultOf(answer);
      checkEqual(
        [result.success, result.tool_name, result.data],
        [true, "conformance_echo", { a: 1 }],
        "success, tool_name and data",
      );
      check(
        Number.isInteger(result.duration_ms) && Number(result.duration_ms) >= 0,
        `duration_ms: ${result.duration_ms}`,
      );
      check(typeof answer.created_at === "number" && answer.created_at > 0, `created_at: ${answer.created_at}`);
      for (const field of ["summary", "truncated", "exit_code", "error", "error_code", "events"])
        check(field in result, `${field} is missing`);
    },
  },
  {
    id: "TOOL-6",
    title: "missing arguments mean no arguments",
    source: "wire facts T3",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      checkEqual(resultOf(await peer.request("tool/call/req", { tool_name: "conformance_echo" })).data, null, "data");
    },
  },
  {
    id: "TOOL-7",
    title: "arguments are checked before the tool runs; every invalid one is named with the expected value",
    source: "wire facts T3",
    level: "must",
    needs: { tools: ["conformance_wait", "conformance_count"] },
    async run({ agent }) {
      const peer = await agent();
      const cases: [string, object, string][] = [
        ["conformance_wait", {}, "ms"],
        ["conformance_wait", { ms: "soon" }, "ms"],
        ["conformance_wait", { ms: 1.5 }, "ms"],
        ["conformance_wait", { ms: -1 }, "ms"],
        ["conformance_wait", { ms: 1, typo: true }, "typo"],
        ["conformance_count", { key: 7 }, "key"],
      ];
      for (const [tool, args, name] of cases) {
        const error = checkError(await peer.call(tool, args), "schema_violation");
        check(String(error.message).includes(name), `the message should name "${name}", got "${error.message}"`);
        const issues = asArray(asObject(error.detail, "detail").issues, "detail.issues").map((issue) =>
          asObject(issue, "issue"),
        );
        check(
          issues.some(({ path, message }) => `${path} ${message}`.includes(name)),
          `detail.issues should name "${name}": ${JSON.stringify(issues)}`,
        );
      }
    },
  },
  {
    id: "TOOL-8",
    title: "an unknown tool is answered with unknown_tool, which names similar tools",
    source: "wire facts T5; tools tests",
    level: "must",
    async run({ agent, survey }) {
      const peer = await agent();
      checkError(await peer.call("no_such_tool_at_all"), "unknown_tool");
      checkError(await peer.call(""), "unknown_tool", "schema_violation");
      checkError(await peer.call("toString"), "unknown_tool");
      checkError(await peer.call("x".repeat(10_000)), "unknown_tool");
      if (!survey.tools.has("conformance_echo")) return;
      const { similar } = asObject(checkError(await peer.call("conformance_ehco"), "unknown_tool").detail, "detail");
      check(
        asArray(similar, "detail.similar").includes("conformance_echo"),
        `detail.similar: ${JSON.stringify(similar)}`,
      );
    },
  },
  {
    id: "TOOL-9",
    title: "a denied tool is answered with tool_denied and is in no list",
    source: "error codes page",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const answer = await peer.call(deniedToolName);
      if (answer.code === "unknown_tool") skip(`the host has no tool "${deniedToolName}" that it denies`);
      checkError(answer, "tool_denied");
      check(!namesOf(await list(peer, { include_deferred: true })).includes(deniedToolName), "should not be listed");
    },
  },
  {
    id: "TOOL-10",
    title: "a tool that throws is answered with tool_error and its own words",
    source: "wire facts T4",
    level: "must",
    needs: { tools: ["conformance_fail"] },
    async run({ agent }) {
      const error = checkError(
        await (await agent()).call("conformance_fail", { message: "the disk is full" }),
        "tool_error",
      );
      check(String(error.message).includes("the disk is full"), `message: ${error.message}`);
    },
  },
  {
    id: "TOOL-11",
    title: "a tool may fail in its result: success false, with error, error_code and exit_code",
    source: "wire facts T4",
    level: "must",
    needs: { tools: ["conformance_fail"] },
    async run({ agent }) {
      const result = resultOf(await (await agent()).call("conformance_fail", { message: "exit", how: "result" }));
      checkEqual(
        [result.success, result.error, result.error_code, result.exit_code],
        [false, "exit", "tool_error", 3],
        "result",
      );
    },
  },
  {
    id: "TOOL-12",
    title: "an error that a tool throws with a code of the protocol reaches the agent with that code",
    source: "error codes page",
    level: "should",
    needs: { tools: ["conformance_fail"] },
    async run({ agent }) {
      const peer = await agent();
      for (const code of Object.keys(coreErrors)) {
        const error = checkError(
          await peer.call("conformance_fail", { message: `thrown ${code}`, how: "code", code }),
          code,
        );
        checkEqual(error.message, `thrown ${code}`, "message");
      }
    },
  },
  {
    id: "TOOL-13",
    title: "an error with an undeclared code becomes internal_error, and nothing of it is shown",
    source: "wire facts C12",
    level: "must",
    needs: { tools: ["conformance_fail"] },
    async run({ agent }) {
      const error = checkError(
        await (await agent()).call("conformance_fail", { message: "secret cause", how: "code", code: "made_up" }),
        "internal_error",
      );
      check(!JSON.stringify(error).includes("secret cause"), "the cause should stay in the log");
    },
  },
  {
    id: "TOOL-14",
    title: "other spellings of the request types are answered in their own family",
    source: "wire facts 3.14; aliases",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      checkType(await peer.request("tool/list"), "tool/list/resp");
      checkType(await peer.request("mcp/list_tools"), "mcp/list_tools/resp");
      for (const [type, answer] of [
        ["tool/call", "tool/call/resp"],
        ["mcp/call_tool", "mcp/call_tool/resp"],
        ["mcp/call_tool/req", "mcp/call_tool/resp"],
      ] as const) {
        const result = resultOf(
          await peer.request(type, { tool_name: "conformance_echo", arguments: { value: type } }),
          answer,
        );
        checkEqual(result.data, type, "data");
      }
    },
  },
  {
    id: "TOOL-15",
    title:
      "fields that the SDK's client sends with a call are accepted: session_id, correlation_id, timeout, streaming",
    source: "wire facts 3.2",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const fields = { session_id: "", correlation_id: "trace-1", streaming: false, timeout: 30 };
      checkEqual(
        resultOf(await (await agent()).call("conformance_echo", { value: 1 }, fields)).success,
        true,
        "success",
      );
    },
  },
];
