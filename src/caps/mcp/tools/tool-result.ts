// Checks the results of tools in a single pass.
import type { CallToolResult } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../../protocol/json.ts";
import type { Sdk } from "../sdk/sdk.ts";

/** Describes why a result is invalid; undefined if it is valid. Blocks of unknown types are passed on. */
export function findFlaw(result: unknown): string | undefined {
  if (!isJsonObject(result)) return "the result is not an object";
  const { content = [], isError } = result;
  if (!Array.isArray(content)) return "content is not a list";
  if (isError !== undefined && typeof isError !== "boolean") return "isError is not a boolean";
  for (const block of content) {
    if (!isJsonObject(block) || typeof block.type !== "string") return "a block of content has no type";
    if (!isBlock(block)) return `a block of type ${block.type.slice(0, 40)} lacks required fields`;
  }
  return undefined;
}

/** Adds an empty content if there is none. Throws the error of the SDK for an invalid result. */
export function toCallResult(result: unknown, { SdkError, SdkErrorCode }: Sdk): CallToolResult {
  const flaw = findFlaw(result);
  if (flaw !== undefined) throw new SdkError(SdkErrorCode.InvalidResult, `Invalid result for tools/call: ${flaw}`);
  return { content: [], ...(result as object) };
}

function isBlock(block: Record<string, unknown>): boolean {
  switch (block.type) {
    case "text":
      return typeof block.text === "string";
    case "image":
    case "audio":
      return typeof block.data === "string" && typeof block.mimeType === "string";
    case "resource_link":
      return typeof block.uri === "string" && typeof block.name === "string";
    case "resource": {
      const { resource } = block;
      return (
        isJsonObject(resource) && typeof resource.uri === "string" && (isText(resource.text) || isText(resource.blob))
      );
    }
    default:
      return true;
  }
}

const isText = (value: unknown) => typeof value === "string";
