// The toolkits capability: from available to running and back, configs, secrets.
import type { Message } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only, skip } from "../check.ts";
import type { Context } from "../context.ts";
import type { Peer } from "../peer.ts";
import type { Requirement } from "../requirement.ts";

const needs = { capability: "toolkits" } as const;
const name = "conformance";
const secret = "c0nformance-s3cret";

async function list(peer: Peer, fields: object = {}): Promise<JsonObject[]> {
  const answer = checkType(await peer.request("toolkit/list/req", fields), "toolkit/list/resp");
  return asArray(answer.toolkits, "toolkits").map((toolkit) => asObject(toolkit, "toolkits[]"));
}

/** The reference toolkit as it is listed; a host without it cannot be asked. */
async function find(peer: Peer): Promise<JsonObject> {
  const found = (await list(peer)).filter((toolkit) => toolkit.name === name && (toolkit.alias ?? "") === "");
  return found[0] ?? skip(`the host has no toolkit "${name}" (a2e/conformance exports it)`);
}

/** A session of its own: its toolkit configs stay in it. */
async function open({ connectAs }: Pick<Context, "connectAs">): Promise<Peer> {
  const peer = await connectAs("toolkit-agent");
  await find(peer);
  return peer;
}

const configure = (peer: Peer, config: object, fields: object = {}): Promise<Message> =>
  peer.request("toolkit/configure/req", { session_id: "", toolkit_name: name, config, ...fields });

async function configured(peer: Peer, config: object): Promise<Message> {
  const answer = checkType(await configure(peer, config), "toolkit/configure/resp");
  check(answer.status === "ok" || answer.status === "configured", `status: ${answer.status} (${answer.message})`);
  return answer;
}

async function toolNames(peer: Peer): Promise<string[]> {
  const answer = checkType(await peer.request("tool/list/req"), "tool/list/resp");
  const tools = asArray(answer.tools, "tools").map((tool) => asObject(tool, "tools[]"));
  return tools.filter(({ toolkit }) => toolkit === name || toolkit === "second").map((tool) => String(tool.name));
}

/** The name of a tool of the reference toolkit on this host: hosts may add a prefix. */
async function toolNamed(peer: Peer, end: string): Promise<string> {
  return only(
    (await toolNames(peer)).filter((tool) => tool.endsWith(end)),
    `tool ${end}`,
  );
}

async function greet(peer: Peer): Promise<JsonObject> {
  const answer = await peer.call(await toolNamed(peer, "greet"), { name: "Ada" });
  return asObject(asObject(checkType(answer, "tool/call/resp").data, "data").data, "data.data");
}

export const toolkits: readonly Requirement[] = [
  {
    id: "KIT-1",
    title: "a toolkit is listed in the SDK's shape: tools as names, schema as an object, no null except the icon",
    source: "wire facts K5, 3.13; SDK models",
    level: "must",
    needs,
    async run({ agent }) {
      const toolkit = await find(await agent());
      checkEqual([toolkit.configured, toolkit.version, toolkit.category], [false, "1.0.0", "conformance"], "fields");
      for (const tool of asArray(toolkit.tools, "tools")) check(typeof tool === "string", "tools should be names");
      checkEqual(asObject(toolkit.schema, "schema").type, "object", "type of the schema");
      for (const [field, value] of Object.entries(toolkit))
        check(value !== null || field === "icon_svg", `${field} is null`);
    },
  },
  {
    id: "KIT-2",
    title: "filter_kind and filter_tags hold, and tags must all be there",
    source: "wire facts K3",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const names = async (fields: object) => (await list(peer, fields)).map((toolkit) => toolkit.name);
      checkEqual(await names({ filter_kind: "conformance" }), [name], "filter_kind");
      checkEqual(await names({ filter_tags: ["conformance", "greeting"] }), [name], "two tags");
      checkEqual(await names({ filter_tags: ["greeting", "no-such-tag"] }), [], "tags that none has together");
      checkEqual(await names({ filter_kind: "no-such-kind" }), [], "a kind that none has");
    },
  },
  {
    id: "KIT-3",
    title: "configure is answered, the tools are there afterwards and were not before",
    source: "wire facts K1",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      checkEqual(await toolNames(peer), [], "tools before");
      const answer = await configured(peer, { greeting: "hello" });
      checkEqual(answer.toolkit_name, name, "toolkit_name");
      checkEqual((await greet(peer)).text, "hello Ada", "text");
      checkEqual((await find(peer)).configured, true, "configured");
    },
  },
  {
    id: "KIT-4",
    title:
      "the older client's name and schema are taken for toolkit_name and config; the answer has the fields of both",
    source: "wire facts K2",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const answer = checkType(
        await peer.request("toolkit/configure/req", { name, schema: { greeting: "hi" } }),
        "toolkit/configure/resp",
      );
      checkEqual([answer.toolkit_name, answer.name, answer.status, answer.error], [name, name, "ok", ""], "answer");
      checkEqual(asObject(answer.toolkit, "toolkit").name, name, "toolkit.name");
      checkEqual((await greet(peer)).text, "hi Ada", "text");
      checkType(
        await peer.request("toolkit/configure", { name, schema: { greeting: "hi" } }),
        "toolkit/configure/resp",
      );
      checkType(await peer.request("toolkit/list"), "toolkit/list/resp");
    },
  },
  {
    id: "KIT-5",
    title: "an invalid config is rejected with all its problems, and no part of it takes effect",
    source: "toolkits guide (config)",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const error = checkError(await configure(peer, { greeting: "x", times: "many", typo: 1 }), "schema_violation");
      const issues = JSON.stringify(asArray(asObject(error.detail, "detail").issues, "detail.issues"));
      for (const part of ["greeting", "times", "typo"])
        check(issues.includes(part), `issues should name ${part}: ${issues}`);
      checkError(await configure(peer, {}), "schema_violation");
      checkEqual([await toolNames(peer), (await find(peer)).configured], [[], false], "tools and configured");
    },
  },
  {
    id: "KIT-6",
    title: "defaults of the schema are filled in, and a config replaces the earlier config as a whole",
    source: "toolkits guide (config)",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      await configured(peer, { greeting: "yo", times: 2, key: secret });
      checkEqual(await greet(peer), { text: "yo Adayo Ada", has_key: true }, "first");
      await configured(peer, { greeting: "yo" });
      checkEqual(await greet(peer), { text: "yo Ada", has_key: false }, "second");
    },
  },
  {
    id: "KIT-7",
    title: "a secret is never returned: not in answers, not in lists, not in problems, not by the toolkit's own tools",
    source: "toolkits guide (secrets)",
    level: "must",
    needs,
    async run(context) {
      const peer = await open(context);
      const before = peer.received.length;
      await configured(peer, { greeting: "hello", key: secret });
      checkError(await configure(peer, { greeting: "hello", key: [secret] }), "schema_violation");
      checkError(await configure(peer, { greeting: "hello", key: secret, typo: secret }), "schema_violation");
      checkError(await configure(peer, { greeting: "hello", times: secret }), "schema_violation");
      await list(peer);
      await peer.call(await toolNamed(peer, "leak"));
      const said = JSON.stringify(peer.received.slice(before));
      check(!said.includes(secret), "the secret was told");
      checkEqual((await greet(peer)).has_key, true, "has_key");
    },
  },
  {
    id: "KIT-8",
    title: "a toolkit that is not there is refused with unknown_toolkit",
    source: "wire facts K1",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const toolkit_name of ["", "no-such-toolkit", "__proto__", "toString"])
        checkError(await peer.request("toolkit/configure/req", { toolkit_name, config: {} }), "unknown_toolkit");
    },
  },
  {
    id: "KIT-9",
    title: "toolkits of a session are separate from those of another",
    source: "sessions are isolated",
    level: "must",
    needs,
    async run(context) {
      const [peer, other] = [await open(context), await open(context)];
      await configured(peer, { greeting: "mine" });
      checkEqual([await toolNames(other), (await find(other)).configured], [[], false], "the other session");
    },
  },
  {
    id: "KIT-10",
    title: "installed, configured and running are distinguished, and uninstalling removes the tools",
    source: "extension: toolkit/install, toolkit/uninstall (wire facts K4)",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const state = async () => (await find(peer)).state;
      checkEqual(await state(), "available", "state at first");
      checkType(await peer.request("toolkit/install", { toolkit_name: name }), "toolkit/install/resp");
      checkEqual(await state(), "installed", "state after install");
      checkType(await configure(peer, { greeting: "hello" }, { start: false }), "toolkit/configure/resp");
      checkEqual([await state(), await toolNames(peer)], ["configured", []], "state after configure without start");
      await configured(peer, { greeting: "hello" });
      checkEqual(await state(), "running", "state after configure");
      checkType(await peer.request("toolkit/uninstall", { name }), "toolkit/uninstall/resp");
      checkEqual([await state(), await toolNames(peer)], ["available", []], "state after uninstall");
      checkError(await peer.request("toolkit/uninstall/req", { toolkit_name: name }), "not_installed");
    },
  },
  {
    id: "KIT-11",
    title:
      "a toolkit that cannot start is partial and has no tools; a running toolkit continues with its earlier config",
    source: "extension: status partial (wire facts K2)",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const answer = checkType(await configure(peer, { greeting: "fail" }), "toolkit/configure/resp");
      checkEqual([answer.status, answer.message], ["partial", "it was told to fail"], "status and message");
      checkEqual(await toolNames(peer), [], "tools");
      await configured(peer, { greeting: "hello" });
      checkError(await configure(peer, { greeting: "fail" }), "toolkit_error");
      checkEqual((await greet(peer)).text, "hello Ada", "text");
    },
  },
  {
    id: "KIT-12",
    title: "a toolkit under an alias stands beside the first, with tools and a config of its own",
    source: "extension: alias of toolkit/install",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const request = { toolkit_name: name, alias: "second", config: { greeting: "salut" } };
      const answer = checkType(await peer.request("toolkit/install/req", request), "toolkit/install/resp");
      checkEqual(asObject(answer.toolkit, "toolkit").alias, "second", "alias");
      checkEqual((await greet(peer)).text, "salut Ada", "text");
      checkEqual((await find(peer)).configured, false, "configured of the first");
    },
  },
  {
    id: "KIT-13",
    title: "an alias of one toolkit is refused to another with toolkit_conflict",
    source: "extension: alias of toolkit/install",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      const other =
        (await list(peer)).find((toolkit) => toolkit.name !== name) ?? skip("the host has one toolkit only");
      const request = { toolkit_name: name, alias: "second" };
      for (const round of ["first", "again"])
        check(
          (await peer.request("toolkit/install/req", request)).type === "toolkit/install/resp",
          `installed ${round}`,
        );
      const taken = [
        { toolkit_name: other.name, alias: "second" },
        { toolkit_name: other.name, alias: name },
      ];
      for (const fields of taken) checkError(await peer.request("toolkit/install/req", fields), "toolkit_conflict");
      checkError(await peer.request("toolkit/install/req", { ...request, alias: "a__b" }), "schema_violation");
    },
  },
  {
    id: "KIT-14",
    title: "a session that installs without end is stopped with toolkit_limit",
    source: "extension: toolkit/install",
    level: "extension",
    needs,
    async run(context) {
      const peer = await open(context);
      for (let count = 0; count < 100; count++) {
        const answer = await peer.request("toolkit/install/req", { toolkit_name: name, alias: `number-${count}` });
        if (answer.type !== "toolkit/install/resp") return void checkError(answer, "toolkit_limit");
      }
      skip("the host lets a session install a hundred toolkits");
    },
  },
];
