// The skill capability: discovery, instructions, scripts, files. The skills that are asked for are in reference-skills.ts.
import type { Message } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only, skip } from "../check.ts";
import type { Context } from "../context.ts";
import type { Peer } from "../peer.ts";
import type { Requirement } from "../requirement.ts";

const needs = { capability: "skill" } as const;

async function list(peer: Peer, fields: object = {}, type = "skill/discover/req"): Promise<JsonObject[]> {
  const answer = checkType(await peer.request(type, fields), type.replace(/\/req$/, "").concat("/resp"));
  return asArray(answer.skills, "skills").map((skill) => asObject(skill, "skills[]"));
}

const namesOf = (skills: readonly JsonObject[]) => skills.map(({ name }) => String(name));
/** A host may have skills of its own. */
const ours = (skills: readonly JsonObject[]) => skills.filter(({ name }) => String(name).startsWith("conformance-"));

/** A session of a host that has the reference skills. */
async function open({ agent }: Context): Promise<Peer> {
  const peer = await agent();
  const names = namesOf(await list(peer));
  return names.includes("conformance-script")
    ? peer
    : skip("the host has none of the reference skills (a2e/conformance writes them)");
}

function call(peer: Peer, name: string, args: object = {}, fields: object = {}): Promise<Message> {
  return peer.request("skill/call/req", { name, arguments: args, ...fields });
}

function resultOf(answer: Message): JsonObject {
  return asObject(checkType(answer, "skill/call/resp").data, "data");
}

function dataOf(answer: Message): JsonObject {
  return asObject(resultOf(answer).data, "data.data");
}

export const skills: readonly Requirement[] = [
  {
    id: "SKILL-1",
    title: "a skill is listed with every field that the SDK requires, and without its instructions",
    source: "wire facts S3",
    level: "must",
    needs,
    async run(context) {
      const found = (await list(await open(context))).filter(({ name }) => name === "conformance-instructions");
      const skill = only(found, "conformance-instructions");
      checkEqual(
        [skill.version, skill.status, skill.category, skill.tags, skill.triggers, skill.when_to_use],
        ["1.2.0", "Published", "conformance", ["conformance", "writing"], ["conformance"], "When a host is scored."],
        "version, status, category, tags, triggers and when_to_use",
      );
      for (const field of ["description", "argument_hint", "source"])
        check(typeof skill[field] === "string", `${field}: expected text`);
      checkEqual(skill.arguments, ["topic", "style"], "arguments");
      checkEqual(asObject(skill.input_schema, "input_schema").required, ["topic"], "input_schema.required");
      check((skill.instructions ?? null) === null, "instructions belong into the answer of a call");
      check((skill.llm_config ?? null) === null, "llm_config belongs to the agent");
    },
  },
  {
    id: "SKILL-2",
    title: "skill/list is discover under its other name, answered in its own family",
    source: "wire facts S2",
    level: "should",
    needs,
    async run(context) {
      const peer = await open(context);
      const expected = namesOf(await list(peer));
      for (const type of ["skill/list", "skill/list/req"])
        checkEqual(namesOf(await list(peer, {}, type)), expected, `skills of ${type}`);
    },
  },
  {
    id: "SKILL-3",
    title: "any of the tags and any of the categories is enough, and both conditions must hold",
    source: "wire facts S2, S7",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const find = async (fields: object) => namesOf(ours(await list(peer, fields)));
      checkEqual(await find({ filter_tags: ["writing"] }), ["conformance-instructions"], "one tag");
      checkEqual(
        await find({ filter_tags: ["writing", "script"] }),
        ["conformance-instructions", "conformance-script"],
        "two tags",
      );
      checkEqual(await find({ filter_categories: ["scripts"] }), ["conformance-script"], "a category");
      checkEqual(await find({ filter_tags: ["writing"], filter_categories: ["scripts"] }), [], "tag and category");
      checkEqual(await find({ filter_tags: ["no such tag"] }), [], "a tag that no skill has");
    },
  },
  {
    id: "SKILL-4",
    title: "archived skills are hidden unless asked for, and can be called all the same",
    source: "wire facts S3",
    level: "should",
    needs,
    async run(context) {
      const peer = await open(context);
      check(!namesOf(await list(peer)).includes("conformance-archived"), "should not be in a plain list");
      const all = await list(peer, { include_archived: true });
      check(namesOf(all).includes("conformance-archived"), "should be there with include_archived");
      const archived = ours(await list(peer, { filter_status: ["Archived"] }));
      checkEqual(namesOf(archived), ["conformance-archived"], "filter_status");
      checkEqual(resultOf(await call(peer, "conformance-archived")).success, true, "success");
    },
  },
  {
    id: "SKILL-5",
    title: "a call of instructions returns them with named arguments and defaults filled in, and names the files",
    source: "wire facts S7",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const data = dataOf(await call(peer, "conformance-instructions", { topic: "{style} $& tides" }));
      checkEqual(
        data.instructions,
        "Write about {style} $& tides in plain words. Leave {braces} alone. See references/more.md.",
        "instructions",
      );
      const paths = asArray(data.resources, "resources").map((resource) => asObject(resource, "resources[]").path);
      checkEqual(paths, ["references/more.md"], "resources");
    },
  },
  {
    id: "SKILL-6",
    title: "a result has success, data, a whole number of milliseconds and events, and a time of creation",
    source: "wire facts S4",
    level: "must",
    needs,
    async run(context) {
      const answer = await call(await open(context), "conformance-script", { value: "x" });
      const result = resultOf(answer);
      checkEqual([answer.name, result.success, result.data], ["conformance-script", true, { echo: "x" }], "answer");
      check(
        Number.isInteger(result.duration_ms) && Number(result.duration_ms) >= 0,
        `duration_ms: ${result.duration_ms}`,
      );
      check(typeof answer.created_at === "number" && answer.created_at > 0, `created_at: ${answer.created_at}`);
      for (const field of ["summary", "truncated", "error", "error_code", "events"])
        check(field in result, `${field} is missing`);
    },
  },
  {
    id: "SKILL-7",
    title: "arguments are checked against the skill's schema before anything runs",
    source: "wire facts S4",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const cases: [string, object, string][] = [
        ["conformance-instructions", {}, "topic"],
        ["conformance-instructions", { topic: 7 }, "topic"],
        ["conformance-instructions", { topic: "x", typo: 1 }, "typo"],
        ["conformance-script", { mode: "none" }, "mode"],
      ];
      for (const [name, args, field] of cases) {
        const error = checkError(await call(peer, name, args), "schema_violation");
        check(
          JSON.stringify(error.detail).includes(field),
          `detail should name ${field}: ${JSON.stringify(error.detail)}`,
        );
      }
    },
  },
  {
    id: "SKILL-8",
    title: "an unknown skill is answered with unknown_skill, and a blocked skill is refused",
    source: "wire facts S5",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      for (const name of ["no-such-skill", "", "../conformance-script", "conformance-script/../x"])
        checkError(await call(peer, name), "unknown_skill");
      checkError(await call(peer, "conformance-blocked"), "forbidden");
    },
  },
  {
    id: "SKILL-9",
    title: "events of a script come before its answer, numbered, and are collected in it",
    source: "wire facts S6",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const id = peer.post("skill/call/req", { name: "conformance-script", arguments: { value: "x" } });
      const answer = await peer.answerTo(id);
      const streamed = peer.eventsOf(id);
      checkEqual(
        streamed.map(({ type, kind, data, seq }) => [type, kind, data, seq]),
        [1, 2, 3].map((done) => ["skill/event", "progress", { done }, done]),
        "streamed events",
      );
      check(peer.received.indexOf(streamed.at(-1) ?? answer) < peer.received.indexOf(answer), "events come first");
      const collected = asArray(resultOf(answer).events, "events").map((event) => asObject(event, "events[]"));
      checkEqual(
        collected.map(({ data }) => data),
        [1, 2, 3].map((done) => ({ done })),
        "collected events",
      );
    },
  },
  {
    id: "SKILL-10",
    title: "without streaming, events are in the answer alone",
    source: "wire facts S4",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const id = peer.post("skill/call/req", { name: "conformance-script", streaming: false });
      const answer = await peer.answerTo(id);
      checkEqual(peer.eventsOf(id).length, 0, "streamed events");
      checkEqual(asArray(resultOf(answer).events, "events").length, 3, "collected events");
    },
  },
  {
    id: "SKILL-11",
    title: "a script that fails, or violates its output schema, is a skill_error, and the session continues",
    source: "wire facts S4, S5",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const failed = checkError(await call(peer, "conformance-script", { mode: "fail" }), "skill_error");
      check(String(failed.message).includes("as it was told to"), `message: ${failed.message}`);
      checkError(await call(peer, "conformance-script", { mode: "wrong" }), "skill_error");
      checkEqual(dataOf(await call(peer, "conformance-script", { value: "on" })).echo, "on", "echo");
    },
  },
  {
    id: "SKILL-12",
    title: "a script that never ends is ended with its timeout",
    source: "wire facts S4",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      checkError(await call(peer, "conformance-script", { mode: "loop" }, { timeout: 1 }), "timeout");
      checkEqual(dataOf(await call(peer, "conformance-script", { value: "on" })).echo, "on", "echo");
    },
  },
  {
    id: "SKILL-13",
    title: "the newest version is used unless a call pins a version, by its field or behind the name",
    source: "an extension: versions",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const name = "conformance-versions";
      const listed = only(
        (await list(peer)).filter((skill) => skill.name === name),
        name,
      );
      checkEqual([listed.version, listed.versions], ["1.10.0", ["1.10.0", "1.9.0"]], "version and versions");
      for (const [fields, version] of [
        [{ name }, "1.10.0"],
        [{ name, skill_version: "1.9.0" }, "1.9.0"],
        [{ name: `${name}@1.9.0` }, "1.9.0"],
      ] as const) {
        const answer = checkType(await peer.request("skill/call/req", fields), "skill/call/resp");
        checkEqual([answer.name, answer.skill_version], [name, version], "name and skill_version");
      }
      checkError(await call(peer, name, {}, { skill_version: "9.9.9" }), "unknown_skill");
    },
  },
  {
    id: "SKILL-14",
    title: "a single file of a skill is read at a time, and no path leads out of its folder",
    source: "an extension: skill/read",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const read = (path: string, fields: object = {}) =>
        peer.request("skill/read/req", { name: "conformance-instructions", path, ...fields });
      const file = checkType(await read("references/more.md"), "skill/read/resp");
      checkEqual([file.content, file.next_offset], ["More about it: ä €\n", null], "content and next_offset");
      const part = checkType(await read("references/more.md", { max_bytes: 16 }), "skill/read/resp");
      checkEqual([part.content, part.next_offset], ["More about it: ", 15], "a part that cuts no character");
      for (const path of ["../conformance-script/SKILL.md", "/etc/passwd", "references", "none.md", "a/../../b", ""])
        checkError(await read(path), "unknown_resource");
    },
  },
  {
    id: "SKILL-15",
    title: "a script asks the agent for a completion, and neither it nor the question sees llm_override",
    source: "an extension: skill/llm",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const id = peer.post("skill/call/req", {
        name: "conformance-script",
        arguments: { mode: "llm", value: "what?" },
        correlation_id: "mine",
        llm_override: { provider_name: "p", provider_credentials: { key: "a secret of the agent" } },
      });
      const ask = await peer.find(({ type, call_id }) => type === "skill/llm/req" && call_id === id, "skill/llm/req");
      checkEqual(
        [ask.skill_name, ask.correlation_id, ask.messages, ask.max_tokens],
        ["conformance-script", "mine", [{ role: "user", content: "what?" }], 5],
        "skill_name, correlation_id, messages and max_tokens",
      );
      check(!JSON.stringify(ask).includes("a secret of the agent"), "llm_override was sent on");
      peer.post("skill/llm/resp", { req_id: ask.id, content: "that" });
      checkEqual(dataOf(await peer.answerTo(id)), { echo: "that" }, "data");
    },
  },
  {
    id: "SKILL-16",
    title: "a script whose question is refused receives the refusal and continues",
    source: "an extension: skill/llm",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const id = peer.post("skill/call/req", { name: "conformance-script", arguments: { mode: "llm", value: "?" } });
      const ask = await peer.find(({ type, call_id }) => type === "skill/llm/req" && call_id === id, "skill/llm/req");
      peer.post("error", { req_id: ask.id, code: "forbidden", message: "not today" });
      checkEqual(dataOf(await peer.answerTo(id)), { echo: "no completion" }, "data");
    },
  },
];
