// Content blocks of MCP in results of A2E tools. Tools from the bridge spell fields as this protocol does
// (`mime_type`), others may return MCP's own blocks; both are accepted.
import { type ContentBlock, isSpecType } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";

/** The blocks of data whose `content` consists of blocks; undefined for all other data. */
export function contentBlocksOf(data: JsonValue): ContentBlock[] | undefined {
  if (!isJsonObject(data) || !Array.isArray(data.content)) return undefined;
  const blocks = data.content.map((block) => (isJsonObject(block) ? toContentBlock(block) : undefined));
  return blocks.every((block) => block !== undefined) ? blocks : undefined;
}

/** Undefined if the value is not a content block. */
export function toContentBlock(view: JsonObject): ContentBlock | undefined {
  const { resource } = view;
  const block = isJsonObject(resource) ? { ...view, resource: toResource(resource) } : withMimeType(view);
  return isSpecType.ContentBlock(block) ? block : undefined;
}

function toResource(view: JsonObject): JsonObject {
  const { type, text, blob, ...rest } = view;
  // Results from the bridge have both fields, one of them empty; `type` names the one that is used.
  const isBlob = type === "blob" || (text === undefined && blob !== undefined);
  return withMimeType({ ...rest, ...(isBlob ? { blob: blob ?? "" } : { text: text ?? "" }) });
}

function withMimeType({ mime_type, ...rest }: JsonObject): JsonObject {
  return typeof mime_type === "string" && mime_type !== "" ? { mimeType: mime_type, ...rest } : rest;
}
