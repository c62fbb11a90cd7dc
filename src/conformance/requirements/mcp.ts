// The mcp capability: a host registers the reference server for an agent, which then uses everything it has.
import { existsSync } from "node:fs";
import type { Message } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only, skip } from "../check.ts";
import type { Context } from "../context.ts";
import type { Peer } from "../peer.ts";
import { referenceMcpCommand } from "../reference-mcp.ts";
import type { Requirement } from "../requirement.ts";

const needs = { capability: "mcp" } as const;
const server_id = "reference";
const config = {
  server_id,
  transport: "stdio",
  cmd: referenceMcpCommand,
  permissions: { sampling: true, elicitation: true, roots: true },
};

/** Gives a session the reference server for as long as the work takes. */
async function withServer({ agent }: Pick<Context, "agent">, work: (peer: Peer) => Promise<void>): Promise<void> {
  const peer = await agent();
  checkType(await register(peer), "mcp/server/register/resp");
  try {
    await work(peer);
  } finally {
    await peer.request("mcp/server/unregister/req", { server_id });
  }
}

async function register(peer: Peer, fields: object = { config }, type = "mcp/server/register/req"): Promise<Message> {
  if (!existsSync(referenceMcpCommand[1])) skip("the reference MCP server is not installed");
  const answer = await peer.request(type, fields);
  if (answer.type === "error" && answer.code === "forbidden")
    skip("the host does not let agents register the reference MCP server (a2e/conformance exports its command)");
  return answer;
}

function resultOf(answer: Message): JsonObject {
  return asObject(checkType(answer, "tool/call/resp").data, "data");
}

function textOf(answer: Message): unknown {
  const { content } = asObject(resultOf(answer).data, "data.data");
  return asObject(asArray(content, "content")[0], "content[0]").text;
}

/** Has the server ask by one of its tools; returns the question and the id of the call. */
async function haveAsked(peer: Peer, tool: string, type: string): Promise<{ question: Message; id: string }> {
  const start = peer.received.length;
  const id = peer.post("tool/call/req", { tool_name: `reference__${tool}`, arguments: {} });
  const isNew = (message: Message) => message.type === type && peer.received.indexOf(message) >= start;
  const question = await peer.find(isNew, type);
  const { mcp_request_id } = question;
  check(typeof mcp_request_id === "string" && mcp_request_id !== "", "the question should have an mcp_request_id");
  checkEqual(question.server_id, server_id, "server_id");
  return { question, id };
}

/** An agent that speaks as the documentation does. */
async function connectByTheDocs({ connect, token }: Context): Promise<Peer> {
  const peer = await connect();
  const handshake = { agent_id: "docs", agent_caps: ["tools", "mcp"], auth_token: token, a2e: "1.0" };
  const answer = await peer.request("handshake/req", { ...handshake, version: undefined });
  checkEqual(answer.ok, true, "handshake");
  return peer;
}

const isPush = (method: string) => (message: Message) =>
  message.type === "mcp/server/push" && message.method === method;

export const mcp: readonly Requirement[] = [
  {
    id: "MCP-1",
    title: "a registered server is answered with ok, is listed as ready, and is gone once it is unregistered",
    source: "wire facts 3.10 (X3, X4, X5)",
    level: "must",
    needs,
    async run(context) {
      const peer = await context.agent();
      const answer = checkType(await register(peer), "mcp/server/register/resp");
      const server = asObject(answer.server, "server");
      checkEqual(
        [answer.ok, server.server_id, server.status, server.transport],
        [true, server_id, "ready", "stdio"],
        "server",
      );
      check(Number(server.tools_count) > 0, `tools_count: expected more than 0, got ${server.tools_count}`);
      const ready = await peer.request("mcp/server/list/req", { status_filter: "ready" });
      check(
        asArray(ready.servers, "servers").some((one) => asObject(one, "servers[]").server_id === server_id),
        "the server should be listed as ready",
      );
      const none = await peer.request("mcp/server/list/req", { status_filter: "error" });
      checkEqual(none.servers, [], "servers with an error");
      const gone = checkType(
        await peer.request("mcp/server/unregister/req", { server_id }),
        "mcp/server/unregister/resp",
      );
      checkEqual([gone.ok, gone.success, gone.server_id], [true, true, server_id], "unregister");
      checkError(await peer.request("mcp/server/unregister/req", { server_id }), "mcp_server_not_found");
    },
  },
  {
    id: "MCP-2",
    title: "its tools are in tool/list as server_id__tool, and a call is routed to it",
    source: "wire facts 3.10 (X7, X8)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const { tools } = checkType(await peer.request("tool/list/req"), "tool/list/resp");
        const names = asArray(tools, "tools").map((tool) => asObject(tool, "tools[]").name);
        check(names.includes("reference__echo"), `tools: expected reference__echo among ${names.join(", ")}`);
        checkEqual(textOf(await peer.call("reference__echo", { text: "hello" })), "hello", "text");
      }),
  },
  {
    id: "MCP-3",
    title: "a tool that fails is a result with success false and its words",
    source: "guide: mcp-bridge (results)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const { success, error } = resultOf(await peer.call("reference__fail"));
        checkEqual([success, error], [false, "it did not work"], "success and error");
      }),
  },
  {
    id: "MCP-4",
    title: "text, image, audio, resource and structured content of a tool all arrive",
    source: "guide: mcp-bridge (results)",
    level: "should",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const data = asObject(resultOf(await peer.call("reference__everything")).data, "data.data");
        const types = asArray(data.content, "content").map((block) => asObject(block, "content[]").type);
        checkEqual(types, ["text", "image", "audio", "resource"], "types of content");
        checkEqual(data.structured, { answer: 42 }, "structured");
      }),
  },
  {
    id: "MCP-5",
    title: "progress of a tool is streamed as events before its answer",
    source: "guide: mcp-bridge (progress)",
    level: "should",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const id = peer.post("tool/call/req", { tool_name: "reference__progress", arguments: {}, streaming: true });
        await peer.answerTo(id);
        const steps = peer.eventsOf(id).map(({ kind, data }) => [kind, asObject(data, "data").progress]);
        checkEqual(
          steps,
          [1, 2, 3].map((step) => ["progress", step]),
          "events",
        );
      }),
  },
  {
    id: "MCP-6",
    title: "a tool that never answers ends with its timeout, and the server goes on",
    source: "guide: mcp-bridge (timeouts)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        checkError(await peer.call("reference__hang", {}, { timeout: 0.2 }), "timeout");
        checkEqual(textOf(await peer.call("reference__echo", { text: "on" })), "on", "text");
      }),
  },
  {
    id: "MCP-7",
    title: "resources are listed page by page, with their templates, and read as text and as blob",
    source: "wire facts 3.10 (X5, X6)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const uris: unknown[] = [];
        let cursor = "";
        do {
          const page = checkType(
            await peer.request("mcp/resource/list/req", { server_id, cursor }),
            "mcp/resource/list/resp",
          );
          uris.push(...asArray(page.resources, "resources").map((one) => asObject(one, "resources[]").uri));
          cursor = String(page.next_cursor);
        } while (cursor !== "" && uris.length < 10);
        checkEqual(uris, ["ref://text", "ref://blob"], "uris");
        const { templates } = await peer.request("mcp/resource/template/list/req", { server_id });
        checkEqual(
          asObject(only(asArray(templates, "templates"), "templates"), "templates[]").uri_template,
          "ref://{name}",
          "uri_template",
        );
        for (const [uri, field, expected] of [
          ["ref://text", "text", "some text"],
          ["ref://blob", "blob", "AAEC"],
        ] as const) {
          const read = checkType(
            await peer.request("mcp/resource/read/req", { uri, server_id }),
            "mcp/resource/read/resp",
          );
          const content = asObject(only(asArray(read.contents, "contents"), "contents"), "contents[]");
          checkEqual([content.uri, content.type, content[field]], [uri, field, expected], `contents of ${uri}`);
        }
        checkError(
          await peer.request("mcp/resource/read/req", { uri: "ref://nothing", server_id }),
          "mcp_resource_not_found",
        );
      }),
  },
  {
    id: "MCP-8",
    title: "a change of a subscribed resource is pushed, and of no other",
    source: "wire facts 3.10 (X4, X9)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const uri = "ref://text";
        const answer = checkType(
          await peer.request("mcp/resource/subscribe/req", { uri, server_id }),
          "mcp/resource/subscribe/resp",
        );
        checkEqual([answer.ok, answer.success], [true, true], "ok and success");
        const start = peer.received.length;
        await peer.call("reference__touch", { uri: "ref://blob" });
        await peer.call("reference__touch", { uri });
        const push = await peer.find(isPush("notifications/resources/updated"), "a push of the change");
        checkEqual([push.server_id, push.params], [server_id, { uri }], "push");
        await peer.request("mcp/resource/unsubscribe/req", { uri, server_id });
        await peer.call("reference__touch", { uri });
        const pushes = peer.received.slice(start).filter(isPush("notifications/resources/updated"));
        checkEqual(pushes.length, 1, "pushes");
      }),
  },
  {
    id: "MCP-9",
    title: "prompts are listed and rendered; one that there is not is mcp_prompt_not_found",
    source: "wire facts 3.10 (X5, X6)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const list = checkType(await peer.request("mcp/prompt/list/req", { server_id }), "mcp/prompt/list/resp");
        checkEqual(asObject(only(asArray(list.prompts, "prompts"), "prompts"), "prompts[]").name, "greet", "name");
        const rendered = checkType(
          await peer.request("mcp/prompt/get/req", { name: "greet", arguments: { who: "Ada" }, server_id }),
          "mcp/prompt/get/resp",
        );
        const message = asObject(only(asArray(rendered.messages, "messages"), "messages"), "messages[]");
        checkEqual(message, { role: "user", content: { type: "text", text: "Greet Ada." } }, "message");
        checkError(await peer.request("mcp/prompt/get/req", { name: "no", server_id }), "mcp_prompt_not_found");
      }),
  },
  {
    id: "MCP-10",
    title: "a server that wants a completion has the agent asked, and an answer under either type reaches it",
    source: "wire facts 3.10 (X1, X2)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        for (const answerType of ["mcp/sample/resp", "mcp/sample/req"]) {
          const { question, id } = await haveAsked(peer, "sample", "mcp/sample/req");
          checkEqual(question.max_tokens, 7, "max_tokens");
          const { mcp_request_id } = question;
          const content = { type: "text", text: `by ${answerType}` };
          const answer = { server_id, mcp_request_id, role: "assistant", content, model: "m", stop_reason: "endTurn" };
          peer.post(answerType, answer);
          checkEqual(textOf(await peer.answerTo(id)), `it said: by ${answerType}`, "what the server got");
        }
      }),
  },
  {
    id: "MCP-11",
    title: "an agent that answers with an error refuses, and the server is told so",
    source: "wire facts 3.10 (mcp_sampling_refused)",
    level: "should",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "sample", "mcp/sample/req");
        peer.post("mcp/sample/resp", { mcp_request_id: question.mcp_request_id, error: "not today" });
        const text = String(textOf(await peer.answerTo(id)));
        check(text.startsWith("refused") && text.includes("not today"), `expected a refusal, got ${text}`);
        const failed = await haveAsked(peer, "sample_or_fail", "mcp/sample/req");
        peer.post("mcp/sample/resp", { mcp_request_id: failed.question.mcp_request_id, error: "never" });
        checkError(await peer.answerTo(failed.id), "mcp_sampling_refused");
      }),
  },
  {
    id: "MCP-12",
    title: "a server that wants the roots has the agent asked",
    source: "wire facts 3.10 (X1, X9)",
    level: "must",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "roots", "mcp/root/list/req");
        const roots = [{ uri: "file:///home/ada/notes", name: "notes" }];
        peer.post("mcp/root/list/resp", { server_id, mcp_request_id: question.mcp_request_id, roots });
        checkEqual(textOf(await peer.answerTo(id)), JSON.stringify(roots), "what the server got");
      }),
  },
  {
    id: "MCP-13",
    title: "the types of the documentation are understood and answered in kind",
    source: "wire facts 3.10 (X11)",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const connected = checkType(await register(peer, { config }, "mcp/connect"), "mcp/connect/resp");
      checkEqual([connected.ok, asObject(connected.info, "info").server_id], [true, server_id], "mcp/connect");
      try {
        for (const [type, fields, answerType] of [
          ["mcp/list_tools", {}, "mcp/list_tools/resp"],
          ["mcp/call_tool", { tool_name: "reference__echo", arguments: { text: "a" } }, "mcp/call_tool/resp"],
          ["mcp/read_resource", { uri: "ref://text", server_id }, "mcp/read_resource/resp"],
          ["mcp/get_prompt", { name: "greet", arguments: { who: "b" }, server_id }, "mcp/get_prompt/resp"],
        ] as const)
          checkType(await peer.request(type, fields), answerType);
      } finally {
        checkType(await peer.request("mcp/disconnect", { server_id }), "mcp/disconnect/resp");
      }
    },
  },
  {
    id: "MCP-14",
    title: "a server that there is not is mcp_server_not_found, whatever is wanted of it",
    source: "wire facts 3.10 (error codes)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const [type, fields] of [
        ["mcp/server/unregister/req", {}],
        ["mcp/resource/list/req", {}],
        ["mcp/resource/read/req", { uri: "ref://text" }],
        ["mcp/resource/subscribe/req", { uri: "ref://text" }],
        ["mcp/prompt/list/req", {}],
        ["mcp/prompt/get/req", { name: "greet" }],
      ] as const)
        checkError(await peer.request(type, { server_id: "no-such-server", ...fields }), "mcp_server_not_found");
    },
  },
  {
    id: "MCP-15",
    title: "a command that the operator did not allow is not run",
    source: "to name a program is to run it",
    level: "must",
    needs,
    async run({ agent }) {
      const cmd = ["/bin/sh", "-c", "exit 0"];
      const answer = await (await agent()).request("mcp/server/register/req", { config: { server_id: "shell", cmd } });
      checkError(answer, "forbidden");
    },
  },
  {
    id: "MCP-16",
    title: "a server that wants a form filled in has the agent asked",
    source: "extension: mcp/elicit",
    level: "extension",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const { question, id } = await haveAsked(peer, "elicit", "mcp/elicit/req");
        checkEqual([question.mode, question.message], ["form", "Who are you?"], "mode and message");
        const { mcp_request_id } = question;
        peer.post("mcp/elicit/resp", { mcp_request_id, action: "accept", content: { name: "Ada" } });
        checkEqual(textOf(await peer.answerTo(id)), "accept: Ada", "what the server got");
      }),
  },
  {
    id: "MCP-17",
    title: "an agent that speaks as the documentation does is asked, and may answer, in its spelling",
    source: "wire facts 3.10 (X1)",
    level: "should",
    needs,
    run: (context) =>
      withServer({ agent: () => connectByTheDocs(context) }, async (peer) => {
        const sampling = await haveAsked(peer, "sample", "mcp/sampling/req");
        const content = { type: "text", text: "words" };
        peer.post("mcp/sampling/resp", { mcp_request_id: sampling.question.mcp_request_id, content, model: "m" });
        checkEqual(textOf(await peer.answerTo(sampling.id)), "it said: words", "what the server got");
        const listing = await haveAsked(peer, "roots", "mcp/roots/list/req");
        peer.post("mcp/roots/list/resp", { mcp_request_id: listing.question.mcp_request_id, roots: [] });
        checkEqual(textOf(await peer.answerTo(listing.id)), "[]", "what the server got");
      }),
  },
  {
    id: "MCP-18",
    title: "what goes wrong at a server has a code of its own: gone tools, refusals, crashes, missing capabilities",
    source: "wire facts 3.10 (error codes)",
    level: "must",
    needs,
    async run(context) {
      await withServer(context, async (peer) => {
        checkError(await peer.call("reference__ghost"), "mcp_tool_not_found");
        const refused = checkError(await peer.call("reference__refuse"), "mcp_protocol_error");
        checkEqual(asObject(refused.detail, "detail").mcp_code, -32000, "detail.mcp_code");
        checkError(await peer.call("reference__crash"), "mcp_transport_error");
      });
      const peer = await context.agent();
      const variant = (flag: string) => ({ config: { ...config, server_id: flag, cmd: [...config.cmd, `--${flag}`] } });
      checkError(await register(peer, variant("die")), "mcp_server_unavailable");
      checkType(await register(peer, variant("bare")), "mcp/server/register/resp");
      checkError(await peer.request("mcp/prompt/list/req", { server_id: "bare" }), "mcp_capability_missing");
      await peer.request("mcp/server/unregister/req", { server_id: "bare" });
    },
  },
  {
    id: "MCP-19",
    title: "an authorisation that nobody waits for is refused",
    source: "extension: mcp/server/authorize",
    level: "extension",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        checkError(await peer.request("mcp/server/authorize/req", { server_id, code: "c", state: "s" }), "forbidden");
      }),
  },
  {
    id: "MCP-20",
    title: "a tool that runs only as a task is called like any other, and its status is streamed",
    source: "guide: mcp-bridge (tasks); MCP 2025-11-25, tasks",
    level: "should",
    needs,
    run: (context) =>
      withServer(context, async (peer) => {
        const id = peer.post("tool/call/req", { tool_name: "reference__research", arguments: {}, streaming: true });
        checkEqual(textOf(await peer.answerTo(id)), "what was found", "text");
        const [first] = peer.eventsOf(id).map(({ kind, data }) => [kind, asObject(data, "data").status]);
        checkEqual(first, ["status", "working"], "first event");
      }),
  },
];
