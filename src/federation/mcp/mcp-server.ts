// One MCP server instance: translates the requests of one client into calls of its session. Instances live for a
// connection or for a single request, depending on the revision; the translation here is the same.
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  isInputRequiredResult,
  Server,
  type ServerCapabilities,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { JsonObject } from "../../protocol/json.ts";
import type { AgentSetting, McpAgent } from "./agent.ts";
import type { Carrier } from "./asks/question-desk.ts";
import { canAnswer } from "./asks/questions.ts";
import { createEventForwarder } from "./call-events.ts";
import { mcpLimits } from "./limits.ts";
import { pageAfter } from "./paging.ts";
import { explained } from "./rpc-errors.ts";

export interface McpServerOptions {
  era: "legacy" | "modern";
  setting: AgentSetting;
  /** The session of this client. It is opened on first use, because the client's name is unknown before. */
  openAgent(clientName: string): Promise<McpAgent>;
}

export function createMcpServer(options: McpServerOptions): Server {
  const { era, setting } = options;
  const capabilities = toServerCapabilities(setting.host.capabilities);
  const server = new Server(setting.serverInfo, { capabilities, instructions });
  const { limits, log } = setting.host;
  const capabilitiesOf = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
    era === "modern" ? envelopeOf(mcpReq)[CLIENT_CAPABILITIES_META_KEY] : server.getClientCapabilities();

  const withAgent = <Result>(context: ServerContext, work: (agent: McpAgent) => Promise<Result>): Promise<Result> =>
    explained(log, async () => work(await options.openAgent(clientNameOf(server, context))));

  /** Serves a request during which the host may ask the client questions. */
  const serve = <Result>(context: ServerContext, agent: McpAgent, start: (signal: AbortSignal) => Promise<Result>) => {
    const { mcpReq } = context;
    const capabilities = capabilitiesOf(context);
    if (era === "modern") {
      const requestState = mcpReq.requestState<string>();
      const { inputResponses, signal } = mcpReq;
      return agent.parked.run({ requestState, inputResponses, capabilities, signal }, start);
    }
    const withdraw = agent.questions.offer(
      carrierOf(
        () => capabilities,
        (request, signal) => mcpReq.send(request, { signal, timeout: limits.maxCallTimeoutMs }),
      ),
    );
    return start(mcpReq.signal).finally(withdraw);
  };

  server.setRequestHandler("tools/list", ({ params }, context) =>
    withAgent(context, async ({ surface }) => {
      const { items, ...rest } = pageAfter(await surface.listTools(), byName, params?.cursor, mcpLimits.maxListed);
      return { tools: items, ...rest };
    }),
  );
  server.setRequestHandler("tools/call", ({ params }, context) =>
    withAgent(context, async (agent) => {
      const onEvent = createEventForwarder(context, params.name);
      const answer = await serve(context, agent, (signal) =>
        agent.surface.callTool(params.name, (params.arguments ?? {}) as JsonObject, {
          signal,
          onEvent,
          ...traceOf(context),
        }),
      );
      if (isInputRequiredResult(answer)) return answer;
      return server.projectCallToolResult(answer.result, answer.outputSchema);
    }),
  );

  if (server.getCapabilities().prompts !== undefined) {
    server.setRequestHandler("prompts/list", ({ params }, context) =>
      withAgent(context, async ({ surface }) => {
        const { items, ...rest } = pageAfter(await surface.listPrompts(), byName, params?.cursor, mcpLimits.maxListed);
        return { prompts: items, ...rest };
      }),
    );
    server.setRequestHandler("prompts/get", ({ params }, context) =>
      withAgent(context, (agent) =>
        serve(context, agent, (signal) => agent.surface.getPrompt(params.name, params.arguments ?? {}, signal)),
      ),
    );
  }

  if (server.getCapabilities().resources !== undefined) {
    server.setRequestHandler("resources/list", ({ params }, context) =>
      withAgent(context, async ({ surface }) => {
        const all = await surface.listResources();
        const { items, ...rest } = pageAfter(all, byUri, params?.cursor, mcpLimits.maxListedFiles);
        return { resources: items, ...rest };
      }),
    );
    server.setRequestHandler("resources/templates/list", ({ params }, context) =>
      withAgent(context, async ({ surface }) => {
        const all = await surface.listTemplates();
        const { items, ...rest } = pageAfter(all, byTemplate, params?.cursor, mcpLimits.maxListed);
        return { resourceTemplates: items, ...rest };
      }),
    );
    server.setRequestHandler("resources/read", ({ params }, context) =>
      withAgent(context, (agent) => serve(context, agent, (signal) => agent.surface.readResource(params.uri, signal))),
    );
  }

  if (era === "legacy" && server.getCapabilities().resources?.subscribe === true) {
    const watch = (uri: string, isWatched: boolean, context: ServerContext) =>
      withAgent(context, async ({ surface }) => {
        await surface.watchResource(uri, isWatched);
        return {};
      });
    server.setRequestHandler("resources/subscribe", ({ params }, context) => watch(params.uri, true, context));
    server.setRequestHandler("resources/unsubscribe", ({ params }, context) => watch(params.uri, false, context));
  }

  server.setRequestHandler("completion/complete", ({ params: { ref, argument } }, context) =>
    withAgent(context, async ({ surface }) => {
      const values =
        ref.type === "ref/prompt"
          ? await surface.completePrompt(ref.name, argument.name, argument.value)
          : await surface.completeResource(ref.uri, argument.value);
      const shown = values.slice(0, mcpLimits.maxCompletions);
      return { completion: { values: shown, total: values.length, hasMore: values.length > shown.length } };
    }),
  );
  return server;
}

const instructions =
  "Tools, memory, environments, plans and workspace files of an A2E host. Memory outlives the conversation.";

const byName = ({ name }: { name: string }) => name;
const byUri = ({ uri }: { uri: string }) => uri;
const byTemplate = ({ uriTemplate }: { uriTemplate: string }) => uriTemplate;

function toServerCapabilities(capabilities: readonly string[]): ServerCapabilities {
  const has = (name: string) => capabilities.includes(name);
  return {
    tools: { listChanged: true },
    logging: {},
    completions: {},
    ...(has("skill") || has("mcp") ? { prompts: { listChanged: true } } : {}),
    ...(has("tools") || has("mcp")
      ? { resources: { listChanged: true, ...(has("mcp") ? { subscribe: true } : {}) } }
      : {}),
  };
}

function clientNameOf(server: Server, { mcpReq }: ServerContext): string {
  return (envelopeOf(mcpReq)[CLIENT_INFO_META_KEY] ?? server.getClientVersion())?.name ?? "";
}

/** The description of the sender in every request of revision 2026-07-28; the SDK validates it but does not type it. */
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

/** For revisions in which a server sends requests to its client. */
export function carrierOf(capabilities: () => ClientCapabilities | undefined, send: Send): Carrier {
  return {
    canCarry: ({ request }) => canAnswer(request, capabilities()),
    carry: async ({ request }, signal) => (await send(request, signal)) as JsonObject,
  };
}

function traceOf({ mcpReq }: ServerContext): { traceparent?: string } {
  const traceparent = mcpReq._meta?.traceparent;
  return typeof traceparent === "string" ? { traceparent } : {};
}
