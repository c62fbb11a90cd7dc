// Converts results of MCP servers to the spelling of this protocol. Nothing is lost: unknown content is passed on
// unchanged.
import type {
  CallToolResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
} from "@modelcontextprotocol/client";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { cut } from "../problems.ts";
import type { PromptView, ResourceContentView, ResourceTemplateView, ResourceView } from "../protocol.ts";
import { type Redaction, redactValue } from "../redaction.ts";

type Block = CallToolResult["content"][number];

/**
 * `content` as the server sent it, and `structured` if it sent that too. A failure of the tool is a result, not an
 * error.
 */
export function toToolOutput(
  { content, structuredContent, isError }: CallToolResult,
  server_id: string,
  redact: Redaction,
): ToolOutput {
  const data: JsonObject = { content: content.map((block) => toBlock(block, server_id)) };
  if (structuredContent !== undefined) data.structured = structuredContent as JsonValue;
  if (isError !== true) return { data };
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
  const error = text === "" ? "the tool failed without an error text" : cut(redact(text));
  return { data: redactValue(data, redact), error, error_code: "tool_error" };
}

function toBlock(block: Block, server_id: string): JsonObject {
  switch (block.type) {
    case "text":
      return withExtras({ type: "text", text: block.text }, block);
    case "image":
    case "audio":
      return withExtras({ type: block.type, data: block.data, mime_type: block.mimeType }, block);
    case "resource":
      return withExtras({ type: "resource", resource: toResourceContent(block.resource) as JsonObject }, block);
    case "resource_link":
      return withExtras({ type: "resource_link", ...(toResource(block, server_id) as JsonObject) }, block);
    default:
      return block as unknown as JsonObject;
  }
}

function withExtras(view: JsonObject, { annotations }: { annotations?: unknown }): JsonObject {
  return annotations === undefined ? view : { ...view, annotations: annotations as JsonObject };
}

export function toResource(resource: Resource, server_id: string): ResourceView {
  return {
    uri: resource.uri,
    name: resource.title ?? resource.name,
    description: cut(resource.description ?? ""),
    mime_type: resource.mimeType ?? "",
    server_id,
    annotations: (resource.annotations ?? {}) as JsonObject,
    ...(typeof resource.size === "number" ? { size: resource.size } : {}),
  };
}

export function toResourceTemplate(template: ResourceTemplateType, server_id: string): ResourceTemplateView {
  return {
    uri_template: template.uriTemplate,
    name: template.title ?? template.name,
    description: cut(template.description ?? ""),
    mime_type: template.mimeType ?? "",
    server_id,
    annotations: (template.annotations ?? {}) as JsonObject,
  };
}

export function toResourceContent(content: ReadResourceResult["contents"][number]): ResourceContentView {
  const { uri } = content;
  return "blob" in content
    ? { uri, mime_type: content.mimeType ?? "application/octet-stream", blob: content.blob, type: "blob" }
    : { uri, mime_type: content.mimeType ?? "text/plain", text: content.text, type: "text" };
}

export function toPrompt(prompt: Prompt, server_id: string): PromptView {
  return {
    name: prompt.name,
    description: cut(prompt.description ?? ""),
    server_id,
    arguments: (prompt.arguments ?? []) as JsonObject[],
  };
}

export function toPromptResult({ description, messages }: GetPromptResult, server_id: string) {
  return {
    description: description ?? "",
    messages: messages.map(({ role, content }) => ({ role, content: toBlock(content as Block, server_id) })),
    server_id,
  };
}
