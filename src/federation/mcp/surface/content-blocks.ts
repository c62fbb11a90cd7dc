// Content of MCP as tools of A2E carry it, and as MCP itself spells it. Tools that came over the bridge spell their fields
// as this protocol does (`mime_type`), others may have written MCP's blocks themselves; both are read.
import { type ContentBlock, isSpecType } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";

/** The blocks of data that has `content` and nothing in it but blocks; undefined for all other data. */
export function contentBlocksOf(data: JsonValue): ContentBlock[] | undefined {
  if (!isJsonObject(data) || !Array.isArray(data.content)) return undefined;
  const blocks = data.content.map((block) => (isJsonObject(block) ? toContentBlock(block) : undefined));
  return blocks.every((block) => block !== undefined) ? blocks : undefined;
}

/** Undefined where it is none. */
export function toContentBlock(view: JsonObject): ContentBlock | undefined {
  const { resource } = view;
  const block = isJsonObject(resource) ? { ...view, resource: toResource(resource) } : withMimeType(view);
  return isSpecType.ContentBlock(block) ? block : undefined;
}

function toResource(view: JsonObject): JsonObject {
  const { type, text, blob, ...rest } = view;
  // Over the bridge both are there, one of them empty, and `type` says which counts.
  const isBlob = type === "blob" || (text === undefined && blob !== undefined);
  return withMimeType({ ...rest, ...(isBlob ? { blob: blob ?? "" } : { text: text ?? "" }) });
}

function withMimeType({ mime_type, ...rest }: JsonObject): JsonObject {
  return typeof mime_type === "string" && mime_type !== "" ? { mimeType: mime_type, ...rest } : rest;
}
