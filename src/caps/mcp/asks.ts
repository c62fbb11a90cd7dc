// What a server wants from the agent: a completion, a form, its folders. The agent is asked; its answer, or its refusal,
// goes back to the server.
import type {
  Client,
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
} from "@modelcontextprotocol/client";
import type { SessionContext } from "../../host/plugin.ts";
import type { ResultOf } from "../../protocol/capability.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { mcpLimits } from "./limits.ts";
import { mcp } from "./protocol.ts";
import type { Sdk } from "./sdk.ts";
import type { ServerConfig } from "./server-config.ts";

export interface AskPort {
  readonly config: ServerConfig;
  readonly sdk: Sdk;
  readonly timeoutMs: number;
  /** The agent on whose behalf the server works, where that is certain. */
  agent(): { ask: SessionContext["ask"] } | undefined;
  onRefusal(what: string, reason: string): void;
}

/**
 * The code that the specification of MCP gives as an example for a request that a user rejects. A server that fails a call
 * over a refusal answers with it in turn.
 */
export const rejected = -1;

export function answerAsks(client: Client, port: AskPort): void {
  const { config, sdk } = port;
  const { permissions, id: server_id } = config;
  let waiting = 0;

  const answer = async <Answer>(
    what: string,
    work: (ask: SessionContext["ask"]) => Promise<Answer>,
  ): Promise<Answer> => {
    const agent = port.agent();
    try {
      if (agent === undefined) throw new Error("several sessions use this server: which agent to ask is not known");
      if (waiting >= mcpLimits.maxAsks) throw new Error(`${mcpLimits.maxAsks} questions wait already`);
      waiting += 1;
      try {
        return await work(agent.ask);
      } finally {
        waiting -= 1;
      }
    } catch (error) {
      const reason = error instanceof A2EError ? `${error.code}: ${error.message}` : (error as Error).message;
      port.onRefusal(what, reason);
      throw new sdk.ProtocolError(rejected, `${what} refused: ${reason}`);
    }
  };

  if (permissions.sampling)
    client.setRequestHandler("sampling/createMessage", ({ params }, { mcpReq: { signal } }) =>
      answer("sampling", async (ask) => {
        const options = { signal, timeoutMs: port.timeoutMs };
        return toMessage(await ask(mcp.asks.sample, toSample(server_id, params), options));
      }),
    );
  if (permissions.elicitation)
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq: { signal } }) =>
      answer("elicitation", async (ask) => {
        const options = { signal, timeoutMs: port.timeoutMs };
        return toElicitResult(await ask(mcp.asks.elicit, toElicit(server_id, params), options));
      }),
    );
  if (permissions.roots)
    client.setRequestHandler("roots/list", (_request, { mcpReq: { signal } }) =>
      answer("roots", async (ask) => {
        const { roots } = await ask(mcp.asks.listRoots, { server_id }, { signal, timeoutMs: port.timeoutMs });
        return { roots: roots.map(({ uri, name }) => (name === "" ? { uri } : { uri, name })) };
      }),
    );
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
    // The specification wants a name, and agents do not always know one.
    model: model === "" ? "unknown" : model,
    ...(stop_reason === "" ? {} : { stopReason: stop_reason }),
  } as CreateMessageResult;
}

function toElicit(server_id: string, params: ElicitRequest["params"]) {
  const { message } = params;
  return "url" in params
    ? { server_id, message, mode: "url", url: String(params.url) }
    : { server_id, message, mode: "form", requested_schema: params.requestedSchema as unknown as JsonObject };
}

function toElicitResult({ action, content }: { action: string; content: JsonObject }): ElicitResult {
  if (action !== "accept") return { action: action === "decline" ? "decline" : "cancel" };
  return { action, content: content as ElicitResult["content"] };
}
