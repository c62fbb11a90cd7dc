import * as z from "zod";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { ask, call, capability, push } from "../../protocol/table/capability.ts";

/** The limits of messages; src/caps/mcp/limits.ts has the limits of the host. */
export const messageLimits = {
  /** Characters of a server's id: together with the name of a tool it must fit into `maxToolNameLength`. */
  maxServerIdLength: 32,
  maxUriLength: 8192,
} as const satisfies Record<string, number>;

const serverId = z.string().max(messageLimits.maxServerIdLength).default("");
const uri = z.string().max(messageLimits.maxUriLength).default("");
const cursor = z.string().default("").describe("The next_cursor of the last page; empty for the first page.");
const nextCursor = z.string().default("").describe("Empty if there is no further page.");

const serverInfo = z.object({
  server_id: z.string(),
  name: z.string(),
  transport: z.string().describe("stdio, sse, http or ws."),
  status: z.string().describe("connecting, ready, error or disconnected."),
  mcp_version: z.string().default("").describe("The revision of MCP that was negotiated."),
  server_name: z.string().default(""),
  server_version: z.string().default(""),
  tools_count: z.int().default(0),
  resources_count: z.int().default(0),
  prompts_count: z.int().default(0),
  last_ping_ms: z.number().default(0),
  error: z.string().default("").describe("Why it is not ready."),
  connected_at: z.number().default(0).describe("Seconds since 1970; 0 if it is not connected."),
  scope: z.string().default("shared").describe("shared by all sessions, or this session's own."),
  instructions: z.string().default("").describe("The server's own instructions for its use."),
  calls: z.int().default(0).describe("Requests to it so far."),
  failures: z.int().default(0).describe("Requests to it that failed."),
  in_flight: z.int().default(0),
  reconnects: z.int().default(0),
  dropped_notifications: z.int().default(0).describe("Notifications that the host dropped because they came too fast."),
  collisions: z
    .array(z.string())
    .default([])
    .describe("Names of its tools that are not in the catalogue because another tool has the name."),
  stderr: z.array(z.string()).default([]).describe("The last lines of its stderr, if this agent may see them."),
  authorization_url: z
    .string()
    .default("")
    .describe("The address at which a user authorises the host; finish with mcp/server/authorize/req."),
});

const resource = z.object({
  uri: z.string(),
  name: z.string().default(""),
  description: z.string().default(""),
  mime_type: z.string().default(""),
  server_id: z.string().default(""),
  annotations: jsonObject.default({}),
  size: z.number().optional(),
});

const resourceTemplate = z.object({
  uri_template: z.string(),
  name: z.string().default(""),
  description: z.string().default(""),
  mime_type: z.string().default(""),
  server_id: z.string().default(""),
  annotations: jsonObject.default({}),
});

const resourceContent = z.object({
  uri: z.string(),
  mime_type: z.string().default("text/plain"),
  text: z.string().default(""),
  blob: z.string().default("").describe("Base64."),
  type: z.string().default("text").describe("text or blob: the field that holds the content."),
});

const prompt = z.object({
  name: z.string(),
  description: z.string().default(""),
  server_id: z.string().default(""),
  arguments: z.array(jsonObject).default([]),
});

const root = z.object({ uri: z.string(), name: z.string().default("") });

export type ServerInfo = z.output<typeof serverInfo>;
export type ResourceView = z.input<typeof resource>;
export type ResourceTemplateView = z.input<typeof resourceTemplate>;
export type ResourceContentView = z.input<typeof resourceContent>;
export type PromptView = z.input<typeof prompt>;

const exampleServer = {
  server_id: "files",
  name: "files",
  transport: "stdio",
  status: "ready",
  mcp_version: "2025-11-25",
  tools_count: 14,
};

export const serverPush = push("mcp/server/push", {
  doc: "A notification of a server, with its own method; methods that begin with a2e/ come from the host itself.",
  payload: z.object({ server_id: z.string(), method: z.string(), params: jsonObject.default({}) }),
  example: {
    server_id: "files",
    method: "notifications/resources/updated",
    params: { uri: "file:///data/report.md" },
  },
});

export const mcp = capability("mcp", {
  doc: "Servers of the Model Context Protocol behind this host: their tools are in tool/list, their resources and prompts are here.",
  errors: {
    mcp_server_not_found: { retryable: false, doc: "No server has this id." },
    mcp_server_unavailable: {
      retryable: true,
      doc: "The server is down, reconnecting, or waits for an authorisation; see `detail`.",
    },
    mcp_tool_not_found: { retryable: false, doc: "The server no longer has this tool." },
    mcp_resource_not_found: { retryable: false, doc: "No server has this resource, or it is not on the allow list." },
    mcp_prompt_not_found: { retryable: false, doc: "No server has this prompt." },
    mcp_transport_error: {
      retryable: true,
      doc: "The connection to the server broke, or the server sent invalid messages.",
    },
    mcp_protocol_error: { retryable: false, doc: "The server answered with an error; `detail.mcp_code` is its code." },
    mcp_sampling_refused: {
      retryable: false,
      doc: "The agent, or the policy of the host, refused to give the server a completion.",
    },
    mcp_capability_missing: { retryable: false, doc: "The server does not support this." },
  },
  resources: { server: "An MCP server, by its server_id. Its tools are resources of the kind tool." },
  calls: {
    registerServer: call("mcp/server/register/req", "mcp/server/register/resp", {
      about: { access: "write", resource: "server", from: ["server_id", "config.server_id"] },
      doc: "Connects a server for this session, if the host's `registration` allows it.",
      aliases: { "mcp/connect": "mcp/connect/resp" },
      mirrors: { info: "server" },
      // Headers and variables hold keys; addresses and arguments may hold them too.
      concealed: ["config", "headers", "url", "cmd"],
      request: z.object({
        config: jsonObject.default({}).describe("server_id, transport, cmd or url, and further settings of a server."),
        server_id: z.string().optional(),
        name: z.string().optional(),
        transport: z.string().optional(),
        cmd: z.array(z.string()).optional(),
        url: z.string().optional(),
        headers: jsonObject.optional(),
      }),
      result: z.object({ ok: z.boolean(), server: serverInfo, error: z.string().default("") }),
      example: {
        request: { config: { server_id: "files", transport: "stdio", cmd: ["mcp-server-filesystem", "/data"] } },
        result: { ok: true, server: exampleServer },
      },
    }),
    listServers: call("mcp/server/list/req", "mcp/server/list/resp", {
      about: { access: "read", resource: "server", shows: { at: "servers", name: "server_id" } },
      doc: "Lists the servers that this session can use, with their health.",
      request: z.object({ status_filter: z.string().default("").describe("Only servers with this status.") }),
      result: z.object({ servers: z.array(serverInfo).default([]) }),
      example: { request: { status_filter: "ready" }, result: { servers: [exampleServer] } },
    }),
    unregisterServer: call("mcp/server/unregister/req", "mcp/server/unregister/resp", {
      about: { access: "write", resource: "server", from: "server_id" },
      doc: "Disconnects a server that this session registered; those of the host's config stay.",
      aliases: { "mcp/disconnect": "mcp/disconnect/resp" },
      mirrors: { success: "ok" },
      request: z.object({ server_id: serverId }),
      result: z.object({ ok: z.boolean(), server_id: z.string() }),
      example: { request: { server_id: "files" }, result: { ok: true, server_id: "files" } },
    }),
    authorizeServer: call("mcp/server/authorize/req", "mcp/server/authorize/resp", {
      about: { access: "write", resource: "server", from: "server_id" },
      doc: "Finishes an authorisation with the callback address that the user's browser ended at. An extension of ours.",
      concealed: ["callback_url", "code", "state"],
      request: z.object({
        server_id: serverId,
        callback_url: z.string().default("").describe("The complete address that the user's browser ended at."),
        code: z.string().default("").describe("In place of callback_url, together with state."),
        state: z.string().default(""),
      }),
      result: z.object({ ok: z.boolean(), server: serverInfo }),
      example: {
        request: { server_id: "tracker", callback_url: "http://127.0.0.1:7635/mcp/callback?code=…&state=…" },
        result: { ok: true, server: { ...exampleServer, server_id: "tracker", name: "tracker", transport: "http" } },
      },
    }),
    listResources: call("mcp/resource/list/req", "mcp/resource/list/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Lists resources page by page: of one server, or of all that are ready.",
      mirrors: { cursor: "next_cursor" },
      request: z.object({ server_id: serverId, cursor }),
      result: z.object({ resources: z.array(resource).default([]), next_cursor: nextCursor }),
      example: {
        request: { server_id: "files" },
        result: { resources: [{ uri: "file:///data/report.md", name: "report", server_id: "files" }] },
      },
    }),
    listResourceTemplates: call("mcp/resource/template/list/req", "mcp/resource/template/list/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Lists templates of resource addresses page by page. An extension of ours.",
      request: z.object({ server_id: serverId, cursor }),
      result: z.object({ templates: z.array(resourceTemplate).default([]), next_cursor: nextCursor }),
      example: {
        request: { server_id: "files" },
        result: { templates: [{ uri_template: "file:///data/{path}", name: "data", server_id: "files" }] },
      },
    }),
    readResource: call("mcp/resource/read/req", "mcp/resource/read/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Reads a resource, as text or as base64.",
      aliases: { "mcp/read_resource": "mcp/read_resource/resp" },
      request: z.object({ uri, server_id: serverId.describe("Empty to search all servers for it.") }),
      result: z.object({
        contents: z.array(resourceContent).default([]),
        server_id: z.string(),
        error: z.string().default(""),
      }),
      example: {
        request: { uri: "file:///data/report.md", server_id: "files" },
        result: { contents: [{ uri: "file:///data/report.md", text: "# Report" }], server_id: "files" },
      },
    }),
    subscribeResource: call("mcp/resource/subscribe/req", "mcp/resource/subscribe/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Subscribes to changes of a resource, sent as mcp/server/push, also after the server reconnected.",
      mirrors: { success: "ok" },
      request: z.object({ uri, server_id: serverId }),
      result: z.object({ ok: z.boolean(), error: z.string().default("") }),
      example: { request: { uri: "file:///data/report.md", server_id: "files" }, result: { ok: true } },
    }),
    unsubscribeResource: call("mcp/resource/unsubscribe/req", "mcp/resource/unsubscribe/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Ends a subscription. An extension of ours.",
      mirrors: { success: "ok" },
      request: z.object({ uri, server_id: serverId }),
      result: z.object({ ok: z.boolean() }),
      example: { request: { uri: "file:///data/report.md", server_id: "files" }, result: { ok: true } },
    }),
    listPrompts: call("mcp/prompt/list/req", "mcp/prompt/list/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Lists prompts page by page: of one server, or of all that are ready.",
      mirrors: { cursor: "next_cursor" },
      request: z.object({ server_id: serverId, cursor }),
      result: z.object({ prompts: z.array(prompt).default([]), next_cursor: nextCursor }),
      example: {
        request: { server_id: "files" },
        result: { prompts: [{ name: "summarise", server_id: "files", arguments: [{ name: "path", required: true }] }] },
      },
    }),
    getPrompt: call("mcp/prompt/get/req", "mcp/prompt/get/resp", {
      about: { access: "read", resource: "server", from: "server_id" },
      doc: "Renders a prompt with its arguments.",
      aliases: { "mcp/get_prompt": "mcp/get_prompt/resp" },
      request: z.object({
        name: z.string().default(""),
        arguments: jsonObject.default({}),
        server_id: serverId.describe("Empty to search all servers for it."),
      }),
      result: z.object({
        description: z.string().default(""),
        messages: z.array(z.object({ role: z.string(), content: jsonObject })).default([]),
        server_id: z.string(),
        error: z.string().default(""),
      }),
      example: {
        request: { name: "summarise", arguments: { path: "report.md" }, server_id: "files" },
        result: {
          messages: [{ role: "user", content: { type: "text", text: "Summarise report.md." } }],
          server_id: "files",
        },
      },
    }),
  },
  asks: {
    sample: ask("mcp/sample/req", "mcp/sample/resp", {
      doc: "A server requests a completion from the agent's model. An `error`, or an agent without a handler, refuses it.",
      aliases: { "mcp/sampling/req": "mcp/sampling/resp" },
      correlatedBy: "mcp_request_id",
      request: z.object({
        server_id: z.string(),
        mcp_request_id: z.string().default(""),
        messages: z.array(jsonObject).default([]),
        model_preferences: jsonObject.default({}),
        system_prompt: z.string().default(""),
        include_context: z.string().default("none"),
        temperature: z.number().default(1),
        max_tokens: z.int().default(1024),
        stop_sequences: z.array(z.string()).default([]),
        metadata: jsonObject.default({}),
        tools: z.array(jsonObject).default([]).describe("Tools of the server that the model may ask to use."),
        tool_choice: jsonObject.default({}),
      }),
      result: z.object({
        server_id: z.string().default(""),
        mcp_request_id: z.string().default(""),
        role: z.string().default("assistant"),
        content: jsonValue.default({}).describe("A content block of MCP, or a list of them."),
        model: z.string().default(""),
        stop_reason: z.string().default(""),
        error: z.string().default("").describe("Not empty: the agent refuses."),
      }),
      example: {
        request: {
          server_id: "files",
          messages: [{ role: "user", content: { type: "text", text: "Summarise this." } }],
        },
        result: { content: { type: "text", text: "It is about tea." }, model: "a-model", stop_reason: "endTurn" },
      },
    }),
    elicit: ask("mcp/elicit/req", "mcp/elicit/resp", {
      doc: "A server asks the user to fill in a form or to visit an address. An extension of ours.",
      correlatedBy: "mcp_request_id",
      request: z.object({
        server_id: z.string(),
        mcp_request_id: z.string().default(""),
        mode: z.string().default("form").describe("form or url."),
        message: z.string().default(""),
        requested_schema: jsonObject.default({}),
        url: z.string().default(""),
        elicitation_id: z
          .string()
          .default("")
          .describe("Identifies an address to visit when its completion is reported."),
      }),
      result: z.object({
        server_id: z.string().default(""),
        mcp_request_id: z.string().default(""),
        action: z.string().default("cancel").describe("accept, decline or cancel."),
        content: jsonObject.default({}),
      }),
      example: {
        request: { server_id: "files", message: "Which folder?", requested_schema: { type: "object" } },
        result: { action: "accept", content: { folder: "reports" } },
      },
    }),
    listRoots: ask("mcp/root/list/req", "mcp/root/list/resp", {
      doc: "A server requests the folders and addresses that the agent works in.",
      aliases: { "mcp/roots/list/req": "mcp/roots/list/resp" },
      correlatedBy: "mcp_request_id",
      request: z.object({ server_id: z.string(), mcp_request_id: z.string().default("") }),
      result: z.object({
        server_id: z.string().default(""),
        mcp_request_id: z.string().default(""),
        roots: z.array(root).default([]),
      }),
      example: {
        request: { server_id: "files" },
        result: { roots: [{ uri: "file:///home/ada/reports", name: "reports" }] },
      },
    }),
  },
  pushes: { serverPush },
});
