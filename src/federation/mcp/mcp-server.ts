// One MCP server instance: translates the requests of one client into calls of its session. The revisions differ in how
// instances live (one per connection, or one per request); what they do is the same, and it is here.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { A2EClientError, A2EConnectionError } from "../../client/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { AgentSetting, McpAgent } from "./agent.ts";
import type { Carrier } from "./asks/question-desk.ts";
import { canAnswer } from "./asks/questions.ts";
import { createEventForwarder } from "./call-events.ts";
import { mcpLimits } from "./limits.ts";
import { pageAfter } from "./paging.ts";

export interface McpServerOptions {
  era: "legacy" | "modern";
  setting: AgentSetting;
  /** The session of this client, opened on first use: only then is it known who the client is. */
  openAgent(clientName: string): Promise<McpAgent>;
}

export function createMcpServer(options: McpServerOptions): Server {
  const { era, setting } = options;
  const capabilities = toServerCapabilities(setting.host.capabilities, era);
  const server = new Server(setting.serverInfo, { capabilities, instructions });
  const agentOf = (context: ServerContext) => options.openAgent(clientNameOf(server, context));
  const capabilitiesOf = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
    era === "modern" ? envelopeOf(mcpReq)[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();

  /** Serves a request along which the host may ask the client. */
  const serve = <Result>(context: ServerContext, agent: McpAgent, start: (signal: AbortSignal) => Promise<Result>) => {
    const { mcpReq } = context;
    const capabilities = capabilitiesOf(context);
    if (era === "modern") {
      const requestState = mcpReq.requestState<string>();
      const { inputResponses, signal } = mcpReq;
      return explained(agent.parked.run({ requestState, inputResponses, capabilities, signal }, start));
    }
    const withdraw = agent.questions.offer(
      carrierOf(
        () => capabilities,
        (request, signal) => mcpReq.send(request, { signal, timeout: setting.host.limits.askTimeoutMs }),
      ),
    );
    return explained(start(mcpReq.signal).finally(withdraw));
  };

  server.setRequestHandler("tools/list", async ({ params }, context) => {
    const { surface } = await agentOf(context);
    const { items, ...rest } = pageAfter(
      await explained(surface.listTools()),
      byName,
      params?.cursor,
      mcpLimits.maxListed,
    );
    return { tools: items, ...rest };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const agent = await agentOf(context);
    const onEvent = createEventForwarder(context, params.name);
    const answer = await serve(context, agent, (signal) =>
      agent.surface.callTool(params.name, (params.arguments ?? {}) as JsonObject, { signal, onEvent }),
    );
    if (isInputRequiredResult(answer)) return answer;
    return server.projectCallToolResult(answer.result, answer.outputSchema);
  });

  if (server.getCapabilities().prompts !== undefined) {
    server.setRequestHandler("prompts/list", async ({ params }, context) => {
      const { surface } = await agentOf(context);
      const all = await explained(surface.listPrompts());
      const { items, ...rest } = pageAfter(all, byName, params?.cursor, mcpLimits.maxListed);
      return { prompts: items, ...rest };
    });
    server.setRequestHandler("prompts/get", async ({ params }, context) => {
      const agent = await agentOf(context);
      return serve(context, agent, (signal) => agent.surface.getPrompt(params.name, params.arguments ?? {}, signal));
    });
  }

  if (server.getCapabilities().resources !== undefined) {
    server.setRequestHandler("resources/list", async ({ params }, context) => {
      const { surface } = await agentOf(context);
      const all = await explained(surface.listResources());
      const { items, ...rest } = pageAfter(all, ({ uri }) => uri, params?.cursor, mcpLimits.maxListedFiles);
      return { resources: items, ...rest };
    });
    server.setRequestHandler("resources/templates/list", async ({ params }, context) => {
      const { surface } = await agentOf(context);
      const all = await explained(surface.listTemplates());
      const { items, ...rest } = pageAfter(all, ({ uriTemplate }) => uriTemplate, params?.cursor, mcpLimits.maxListed);
      return { resourceTemplates: items, ...rest };
    });
    server.setRequestHandler("resources/read", async ({ params }, context) => {
      const agent = await agentOf(context);
      return serve(context, agent, (signal) => agent.surface.readResource(params.uri, signal));
    });
  }

  if (server.getCapabilities().resources?.subscribe === true) {
    server.setRequestHandler("resources/subscribe", async ({ params }, context) => {
      await explained((await agentOf(context)).surface.watchResource(params.uri, true));
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", async ({ params }, context) => {
      await explained((await agentOf(context)).surface.watchResource(params.uri, false));
      return {};
    });
  }

  server.setRequestHandler("completion/complete", async ({ params: { ref, argument } }, context) => {
    const { surface } = await agentOf(context);
    const values = await explained(
      ref.type === "ref/prompt"
        ? surface.completePrompt(ref.name, argument.name, argument.value)
        : surface.completeResource(ref.uri, argument.value),
    );
    const shown = values.slice(0, mcpLimits.maxCompletions);
    return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
  });
  return server;
}

const instructions =
  "Tools, memory, environments, plans and workspace files of an A2E host. What is remembered outlives the conversation.";

const byName = ({ name }: { name: string }) => name;

function toServerCapabilities(capabilities: readonly string[], era: "legacy" | "modern"): ServerCapabilities {
  const has = (name: string) => capabilities.includes(name);
  // In the newest revision the SDK keeps subscriptions to itself, and the servers behind the host would not hear of them.
  const canWatch = has("mcp") && era === "legacy";
  return {
    tools: { listChanged: true },
    logging: {},
    completions: {},
    ...(has("skill") || has("mcp") ? { prompts: { listChanged: true } } : {}),
    ...(has("tools") || has("mcp")
      ? { resources: { listChanged: true, ...(canWatch ? { subscribe: true } : {}) } }
      : {}),
  };
}

function clientNameOf(server: Server, { mcpReq }: ServerContext): string {
  return (envelopeOf(mcpReq)[CLIENT_INFO_META_KEY] ?? server.getClientVersion())?.name ?? "";
}

/** What every request of the revision of 2026-07-28 says of its sender; the SDK has checked it and does not type it. */
interface Envelope {
  [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities;
  [CLIENT_INFO_META_KEY]?: Implementation;
}

function envelopeOf({ envelope = {} }: ServerContext["mcpReq"]): Envelope {
  return envelope;
}

type Send = (
  request: { method: "sampling/createMessage" | "elicitation/create" | "roots/list" },
  signal: AbortSignal,
) => Promise<object>;

/** Revisions in which a server asks its client directly. */
export function carrierOf(capabilities: () => ClientCapabilities | undefined, send: Send): Carrier {
  return {
    canCarry: ({ request }) => canAnswer(request, capabilities()),
    carry: async ({ request }, signal) => (await send(request, signal)) as JsonObject,
  };
}

/** What the session could not do is told to the client; what went wrong inside is not. */
async function explained<Value>(work: Promise<Value>): Promise<Value> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof A2EClientError) {
      const data = { code: error.code, retryable: error.retryable, detail: error.detail };
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, data);
    }
    if (error instanceof A2EConnectionError) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    throw error;
  }
}
