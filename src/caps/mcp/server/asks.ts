// Requests of a server to the agent: for a completion, a form or the agent's folders. The agent's answer or refusal is
// returned to the server.
import type { Client, CreateMessageRequest, CreateMessageResult, ElicitRequest } from "@modelcontextprotocol/client";
import type { SessionContext } from "../../../plugin/plugin.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { ResultOf } from "../../../protocol/table/capability.ts";
import { mcpLimits } from "../limits.ts";
import { mcp } from "../protocol.ts";
import type { Sdk } from "../sdk/sdk.ts";
import type { ServerConfig } from "../server-config.ts";

export interface Agent {
  readonly ask: SessionContext["ask"];
}

export interface AskPort {
  readonly config: ServerConfig;
  readonly sdk: Sdk;
  readonly timeoutMs: number;
  /** The agent on whose behalf the server works, if that is certain, for example because the server names a task. */
  agent(taskId: string | undefined): Agent | undefined;
  onRefusal(what: string, reason: string): void;
}

/**
 * The code that the MCP specification shows for a request that a user rejects. A server that fails a call because of a
 * refusal answers that call with it.
 */
export const rejected = -1;

export class Asks {
  readonly #port: AskPort;
  #waiting = 0;

  constructor(port: AskPort) {
    this.#port = port;
  }

  /** Makes a client accept the requests that this server may send; all others are rejected. */
  attach(client: Client): void {
    const { sdk, config } = this.#port;
    const agentOf = (meta: Record<string, unknown> | undefined) => this.#port.agent(relatedTask(meta, sdk));
    if (config.permissions.sampling)
      client.setRequestHandler("sampling/createMessage", ({ params }, { mcpReq: { signal } }) =>
        this.#sample(params, signal, agentOf(params._meta)),
      );
    if (config.permissions.elicitation)
      client.setRequestHandler("elicitation/create", ({ params }, { mcpReq: { signal } }) =>
        this.#elicit(params, signal, agentOf(params._meta)),
      );
    if (config.permissions.roots)
      client.setRequestHandler("roots/list", ({ params }, { mcpReq: { signal } }) =>
        this.#listRoots(signal, agentOf(params?._meta)),
      );
  }

  /** Answers a request that came inside of an answer, for the agent whose call it belongs to. */
  async answer(question: unknown, signal: AbortSignal, agent: Agent | undefined): Promise<JsonObject> {
    const { sdk, config } = this.#port;
    const { method, params = {} } = (question ?? {}) as { method?: unknown; params?: unknown };
    const { permissions } = config;
    if (
      method === "sampling/createMessage" &&
      permissions.sampling &&
      sdk.isSpecType.CreateMessageRequestParams(params)
    )
      return (await this.#sample(params, signal, agent)) as JsonObject;
    if (method === "elicitation/create" && permissions.elicitation && sdk.isSpecType.ElicitRequestParams(params))
      return this.#elicit(params, signal, agent);
    if (method === "roots/list" && permissions.roots) return this.#listRoots(signal, agent);
    throw this.#refusal("a question", "this server may not ask it");
  }

  #sample(params: CreateMessageRequest["params"], signal: AbortSignal, agent: Agent | undefined) {
    const { config, timeoutMs } = this.#port;
    return this.#ask("sampling", agent, async (ask) =>
      toMessage(await ask(mcp.asks.sample, toSample(config.id, params), { signal, timeoutMs })),
    );
  }

  #elicit(params: ElicitRequest["params"], signal: AbortSignal, agent: Agent | undefined) {
    const { config, timeoutMs } = this.#port;
    return this.#ask("elicitation", agent, async (ask) => {
      const { action, content } = await ask(mcp.asks.elicit, toElicit(config.id, params), { signal, timeoutMs });
      if (action !== "accept") return { action: action === "decline" ? ("decline" as const) : ("cancel" as const) };
      return { action: "accept" as const, content: { ...defaultsOf(params), ...content } as Record<string, string> };
    });
  }

  #listRoots(signal: AbortSignal, agent: Agent | undefined) {
    const { config, timeoutMs } = this.#port;
    return this.#ask("roots", agent, async (ask) => {
      const { roots } = await ask(mcp.asks.listRoots, { server_id: config.id }, { signal, timeoutMs });
      return { roots: roots.map(({ uri, name }) => (name === "" ? { uri } : { uri, name })) };
    });
  }

  async #ask<Answer>(what: string, agent: Agent | undefined, work: (ask: Agent["ask"]) => Promise<Answer>) {
    if (agent === undefined)
      throw this.#refusal(what, "several sessions use this server, so the agent to ask is unknown");
    if (this.#waiting >= mcpLimits.maxAsks)
      throw this.#refusal(what, `${mcpLimits.maxAsks} requests are pending already`);
    this.#waiting += 1;
    try {
      return await work(agent.ask);
    } catch (error) {
      throw this.#refusal(
        what,
        error instanceof A2EError ? `${error.code}: ${error.message}` : (error as Error).message,
      );
    } finally {
      this.#waiting -= 1;
    }
  }

  #refusal(what: string, reason: string): Error {
    this.#port.onRefusal(what, reason);
    return new this.#port.sdk.ProtocolError(rejected, `${what} refused: ${reason}`);
  }
}

function relatedTask(meta: Record<string, unknown> | undefined, sdk: Sdk): string | undefined {
  const related = meta?.[sdk.RELATED_TASK_META_KEY] as { taskId?: unknown } | undefined;
  return typeof related?.taskId === "string" ? related.taskId : undefined;
}

function toSample(server_id: string, params: CreateMessageRequest["params"]) {
  return {
    server_id,
    messages: params.messages as unknown as JsonObject[],
    model_preferences: (params.modelPreferences ?? {}) as JsonObject,
    system_prompt: params.systemPrompt ?? "",
    include_context: params.includeContext ?? "none",
    ...(params.temperature === undefined ? {} : { temperature: params.temperature }),
    max_tokens: params.maxTokens,
    stop_sequences: params.stopSequences ?? [],
    metadata: (params.metadata ?? {}) as JsonObject,
    tools: (params.tools ?? []) as unknown as JsonObject[],
    tool_choice: (params.toolChoice ?? {}) as JsonObject,
  };
}

function toMessage({
  role,
  content,
  model,
  stop_reason,
  error,
}: ResultOf<typeof mcp.asks.sample>): CreateMessageResult {
  if (error !== "") throw new A2EError("mcp_sampling_refused", error);
  return {
    role,
    content,
    // The specification requires a name, and agents do not always have one.
    model: model === "" ? "unknown" : model,
    ...(stop_reason === "" ? {} : { stopReason: stop_reason }),
  } as CreateMessageResult;
}

function toElicit(server_id: string, params: ElicitRequest["params"]) {
  const { message } = params;
  if (!("url" in params))
    return { server_id, message, mode: "form", requested_schema: params.requestedSchema as unknown as JsonObject };
  const elicitation_id = String(params.elicitationId ?? "");
  return { server_id, message, mode: "url", url: String(params.url), elicitation_id };
}

/** The defaults of a form, for fields that the user does not change. */
function defaultsOf(params: ElicitRequest["params"]): JsonObject {
  if (!("requestedSchema" in params)) return {};
  const fields = Object.entries(params.requestedSchema.properties ?? {}) as [string, { default?: unknown }][];
  return Object.fromEntries(
    fields.flatMap(([name, field]) => ("default" in field ? [[name, field.default]] : [])),
  ) as JsonObject;
}
