// Questions of a host to its agent, translated to MCP: a completion, a form, a list of roots. Any other question, such
// as an approval, becomes a form with the fields of its answer.
import type { ClientCapabilities, InputRequest } from "@modelcontextprotocol/server";
import * as z from "zod";
import { mcp } from "../../../caps/mcp/protocol.ts";
import { skill } from "../../../caps/skill/protocol.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import type { Call } from "../../../protocol/table/capability.ts";

/** A question in both protocols. */
export interface Question {
  readonly request: InputRequest;
  /** Converts the client's answer to an answer of A2E. Throws an A2EError if the client refuses. */
  toAnswer(result: JsonObject): JsonObject;
}

/** Undefined if MCP has no equivalent. */
export function toQuestion(ask: Call, request: JsonObject): Question | undefined {
  if (ask.type === mcp.asks.sample.type) return samplingOfServer(request);
  if (ask.type === skill.asks.llm.type) return samplingOfSkill(request);
  if (ask.type === mcp.asks.elicit.type) return elicitation(request);
  if (ask.type === mcp.asks.listRoots.type) {
    return { request: { method: "roots/list" }, toAnswer: ({ roots }) => ({ roots: roots ?? [] }) };
  }
  return form(ask, request);
}

/** Whether a client that declared these capabilities can be asked. */
export function canAnswer({ method, params }: InputRequest, capabilities: ClientCapabilities | undefined): boolean {
  if (method === "sampling/createMessage") return capabilities?.sampling !== undefined;
  if (method === "roots/list") return capabilities?.roots !== undefined;
  const modes = capabilities?.elicitation;
  if (modes === undefined) return false;
  // A client that names no mode supports only forms.
  return params?.mode === "url" ? "url" in modes && modes.url !== undefined : !("url" in modes) || "form" in modes;
}

function samplingOfServer(request: JsonObject): Question {
  const { messages, max_tokens, model_preferences, system_prompt, include_context, temperature } = request;
  const { stop_sequences, metadata, tools, tool_choice } = request;
  return sampling(
    {
      messages,
      maxTokens: max_tokens,
      modelPreferences: model_preferences,
      systemPrompt: system_prompt,
      // Any other context than "none" needs a capability that hardly any client has.
      includeContext: include_context === "none" ? "" : include_context,
      temperature,
      stopSequences: stop_sequences,
      metadata,
      tools,
      toolChoice: tool_choice,
    },
    ({ role, content, model, stopReason }) => ({ role, content, model, stop_reason: stopReason ?? "" }),
  );
}

function samplingOfSkill({ messages, max_tokens, temperature, stop }: JsonObject): Question {
  const all = (Array.isArray(messages) ? messages : []).filter(isJsonObject);
  const system = all.filter(({ role }) => role === "system").map(({ content }) => String(content));
  return sampling(
    {
      messages: all
        .filter(({ role }) => role !== "system")
        .map(({ role = "user", content = "" }) => ({ role, content: { type: "text", text: content } })),
      systemPrompt: system.join("\n\n"),
      maxTokens: max_tokens ?? defaultMaxTokens,
      temperature,
      stopSequences: stop,
    },
    ({ content, model, stopReason }) => ({ content: textOf(content), model, stop_reason: stopReason ?? "" }),
  );
}

const defaultMaxTokens = 1024;

function sampling(
  params: { [name: string]: JsonValue | undefined },
  toAnswer: (result: JsonObject) => { [name: string]: JsonValue | undefined },
): Question {
  const request = { method: "sampling/createMessage", params: withoutEmpty(params) } as unknown as InputRequest;
  return { request, toAnswer: (result) => withoutEmpty(toAnswer(result)) };
}

/** MCP omits fields that A2E sends with empty values. */
function withoutEmpty(params: { [name: string]: JsonValue | undefined }): JsonObject {
  const isFilled = (value: JsonValue | undefined): value is JsonValue =>
    value !== undefined &&
    value !== "" &&
    !(Array.isArray(value) && value.length === 0) &&
    !(isJsonObject(value) && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(params).filter((field): field is [string, JsonValue] => isFilled(field[1])));
}

function textOf(content: JsonValue | undefined): string {
  const blocks = Array.isArray(content) ? content : [content ?? null];
  return blocks.map((block) => (isJsonObject(block) && typeof block.text === "string" ? block.text : "")).join("");
}

function elicitation({ mode, message, requested_schema, url, mcp_request_id }: JsonObject): Question {
  const params =
    mode === "url"
      ? { mode, message, url, elicitationId: mcp_request_id }
      : { message, requestedSchema: { properties: {}, ...(requested_schema as JsonObject), type: "object" } };
  return {
    request: { method: "elicitation/create", params } as unknown as InputRequest,
    toAnswer: ({ action, content }) => ({ action: action ?? "cancel", content: content ?? {} }),
  };
}

function form(ask: Call, request: JsonObject): Question | undefined {
  const { $schema: _, ...schema } = z.toJSONSchema(ask.result, { io: "input", unrepresentable: "any" });
  const required = schema.required ?? [];
  const fields = Object.entries((schema.properties ?? {}) as JsonObject);
  const fillable = fields.filter(([, property]) => isJsonObject(property) && isPrimitive(property));
  const properties = Object.fromEntries(fillable);
  // Fields that do not fit into a form are left out, which is allowed only if they are optional.
  if (fillable.length === 0 || !required.every((name) => name in properties)) return undefined;
  const asked = [request.message, request.question, request.prompt].find((text) => typeof text === "string");
  const message = `${asked ?? ask.doc}\n\n${JSON.stringify(request, null, 2)}`;
  const requestedSchema = { type: "object", properties, required };
  return {
    request: { method: "elicitation/create", params: { message, requestedSchema } } as unknown as InputRequest,
    toAnswer({ action, content }) {
      if (action === "accept") return isJsonObject(content) ? content : {};
      throw new A2EError("forbidden", action === "decline" ? "the user declined" : "the user did not answer");
    },
  };
}

function isPrimitive({ type, properties, items }: JsonObject): boolean {
  return (
    typeof type === "string" && type !== "object" && type !== "array" && properties === undefined && items === undefined
  );
}
