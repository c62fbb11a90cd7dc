// What a tool of A2E returned, in the form in which MCP shows it to a model.
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server";
import type { A2EClientError } from "../../../client/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { contentBlocksOf } from "./content-blocks.ts";

/** The parts of a result that tools and skills have in common. */
export interface CallOutcome {
  success: boolean;
  data: JsonValue;
  summary: JsonValue;
  truncated: boolean | null;
  exit_code?: number | null;
  error: string | null;
  error_code: string | null;
}

/** With an output schema, whatever the data is belongs into the result as structure; without one, only an object does. */
export function toCallResult(outcome: CallOutcome, outputSchema?: object): CallToolResult {
  const { data, summary } = outcome;
  const blocks = contentBlocksOf(data);
  const content = blocks ?? toText(data);
  const structuredContent = blocks === undefined ? toStructure(data, outputSchema) : structureOf(data);
  if (typeof summary === "string" && summary !== "") content.unshift(text(summary));
  // A tool of an MCP server has said in its own blocks what went wrong.
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

/** A failed call is a result with an error: the model reads it, and may do better. */
export function toErrorResult({ code, message, detail, retryable }: A2EClientError): CallToolResult {
  const more = Object.keys(detail).length === 0 ? "" : `\n${JSON.stringify(detail)}`;
  return {
    content: [text(`${message}${more}`)],
    isError: true,
    _meta: { "a2e/error_code": code, "a2e/retryable": retryable },
  };
}

/** The answer of a capability's call: the same as text, for models whose client shows them no structure. */
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

/** Beside the blocks of a tool that came over the bridge. */
function structureOf(data: JsonValue): Structure {
  return isJsonObject(data) ? ((data.structured ?? data.structuredContent) as Structure) : undefined;
}

function text(value: string): ContentBlock {
  return { type: "text", text: value };
}
