// Converts the result of an A2E tool to the form that MCP shows to a model.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { A2EClientError } from "../../../client/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { contentBlocksOf } from "./content-blocks.ts";

/** The fields that results of tools and skills share. */
export interface CallOutcome {
  success: boolean;
  data: JsonValue;
  summary: JsonValue;
  truncated: boolean | null;
  exit_code?: number | null;
  error: string | null;
  error_code: string | null;
}

/** With an output schema, any data is structured content; without a schema, only an object is. */
export function toCallResult(outcome: CallOutcome, outputSchema?: object): CallToolResult {
  const { data, summary } = outcome;
  const blocks = contentBlocksOf(data);
  const content = blocks ?? toText(data);
  const structuredContent = blocks === undefined ? toStructure(data, outputSchema) : structureOf(data);
  if (typeof summary === "string" && summary !== "") content.unshift(text(summary));
  // A failed tool of an MCP server reports the error in its own blocks.
  if (!outcome.success && blocks === undefined) content.unshift(text(outcome.error ?? outcome.error_code ?? "failed"));
  const meta: JsonObject = {
    ...(outcome.truncated === true ? { "a2e/truncated": true } : {}),
    ...(typeof outcome.exit_code === "number" ? { "a2e/exit_code": outcome.exit_code } : {}),
    ...(outcome.error_code === null ? {} : { "a2e/error_code": outcome.error_code }),
  };
  return {
    content,
    ...(structuredContent === undefined ? {} : { structuredContent }),
    ...(outcome.success ? {} : { isError: true }),
    ...(Object.keys(meta).length === 0 ? {} : { _meta: meta }),
  };
}

/** A failed call is a result with an error, so that the model reads it and can correct its call. */
export function toErrorResult({ code, message, detail, retryable }: A2EClientError): CallToolResult {
  const more = Object.keys(detail).length === 0 ? "" : `\n${JSON.stringify(detail)}`;
  return {
    content: [text(`${message}${more}`)],
    isError: true,
    _meta: { "a2e/error_code": code, "a2e/retryable": retryable },
  };
}

/** The result of a capability's call, repeated as text for clients that do not show structured content to the model. */
export function toStructuredResult(result: JsonObject): CallToolResult {
  return { content: [text(JSON.stringify(result))], structuredContent: result };
}

function toText(data: JsonValue): ContentBlock[] {
  if (data === null) return [];
  return [text(typeof data === "string" ? data : JSON.stringify(data))];
}

type Structure = CallToolResult["structuredContent"];

function toStructure(data: JsonValue, outputSchema: object | undefined): Structure {
  return isJsonObject(data) || (outputSchema !== undefined && data !== null) ? (data as Structure) : undefined;
}

/** The structured content next to the blocks of a tool from the bridge. */
function structureOf(data: JsonValue): Structure {
  return isJsonObject(data) ? ((data.structured ?? data.structuredContent) as Structure) : undefined;
}

function text(value: string): ContentBlock {
  return { type: "text", text: value };
}
