// Runs one tool for one request and shapes what comes of it. A synchronous tool is answered synchronously.
import type { CallContext } from "../../host/call-context.ts";
import { CheckedResult } from "../../host/checked-result.ts";
import type { CatalogueTool, ToolCatalogue, ToolOutput } from "../../host/tool-catalogue.ts";
import { cutText, isLargerThan } from "../../host/validation/json-size.ts";
import type { RequestOf, ResultInputOf, ResultOf } from "../../protocol/capability.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson } from "../../protocol/json.ts";
import { nearest } from "../../protocol/nearest.ts";
import { CollectingContext } from "./collecting-context.ts";
import { schemaViolation } from "./problems.ts";
import { tools } from "./protocol.ts";

type CallRequest = RequestOf<(typeof tools.calls)["call"]>;
type CallTable = (typeof tools.calls)["call"];
type CallResult = ResultInputOf<CallTable> | CheckedResult<ResultOf<CallTable>>;

interface ToolCallSettings {
  readonly catalogue: ToolCatalogue;
  readonly isAllowed: (name: string) => boolean;
  /** Tools that exist and are not in the catalogue because they are denied. */
  readonly deniedNames: ReadonlySet<string>;
  readonly maxResultBytes: number;
  readonly maxCollectedEvents: number;
}

export function callTool(
  request: CallRequest,
  context: CallContext,
  settings: ToolCallSettings,
): CallResult | Promise<CallResult> {
  const tool = findTool(request.tool_name, settings);
  const checked = tool.check(request.arguments);
  if ("problems" in checked) throw schemaViolation(tool.name, checked.problems);
  const isSilent = request.streaming || tool.usesContext === false;
  const collector = isSilent ? undefined : new CollectingContext(context, settings.maxCollectedEvents);
  let output: ToolOutput | Promise<ToolOutput>;
  try {
    output = tool.run(checked.value, collector ?? context);
  } catch (error) {
    throw toToolError(error, tool);
  }
  if (output instanceof Promise) return settle(output, tool, request, context, collector, settings.maxResultBytes);
  return toResult(output, tool, context, collector, settings.maxResultBytes);
}

/** Apart from `callTool`, which every call would pay for its variables otherwise. */
function settle(
  output: Promise<ToolOutput>,
  tool: CatalogueTool,
  request: CallRequest,
  context: CallContext,
  collector: CollectingContext | undefined,
  maxResultBytes: number,
): Promise<CallResult> {
  // Only what is still running can run out of time; the time counts from the start of the call all the same.
  const timeoutMs = request.timeout > 0 ? request.timeout * 1000 : tool.timeoutMs;
  if (timeoutMs !== undefined) context.setTimeout(timeoutMs);
  return output.then(
    (settled) => toResult(settled, tool, context, collector, maxResultBytes),
    (error: unknown) => {
      throw toToolError(error, tool);
    },
  );
}

function findTool(name: string, { catalogue, isAllowed, deniedNames }: ToolCallSettings): CatalogueTool {
  const tool = catalogue.get(name);
  if (deniedNames.has(name) || (tool !== undefined && !isAllowed(name))) {
    throw tools.error("tool_denied", `the host does not allow the tool "${name}"`, { detail: { tool_name: name } });
  }
  if (tool !== undefined) return tool;
  const similar = similarNames(
    name,
    catalogue
      .list()
      .map((candidate) => candidate.name)
      .filter(isAllowed),
  );
  const hint = similar[0] === undefined ? "tool/list shows those there are" : `did you mean "${similar[0]}"?`;
  throw tools.error("unknown_tool", `there is no tool "${name.slice(0, 128)}"; ${hint}`, {
    detail: { tool_name: name.slice(0, 128), similar },
  });
}

const maxSimilar = 3;

function similarNames(name: string, known: readonly string[]): string[] {
  const left = new Set(known);
  const similar: string[] = [];
  while (similar.length < maxSimilar) {
    const next = nearest(name, left);
    if (next === undefined) break;
    left.delete(next);
    similar.push(next);
  }
  return similar;
}

/**
 * An error that a tool threw on purpose keeps its code; any other is the tool's failure, told to the agent in its own words.
 * A code that no table has is the kernel's to refuse.
 */
function toToolError(error: unknown, tool: CatalogueTool): A2EError {
  if (error instanceof A2EError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return tools.error("tool_error", text === "" ? `"${tool.name}" failed` : text, {
    cause: error,
    detail: { tool_name: tool.name },
  });
}

function toResult(
  output: ToolOutput,
  tool: CatalogueTool,
  context: CallContext,
  collector: CollectingContext | undefined,
  maxResultBytes: number,
): CallResult {
  const now = context.clock.now();
  const duration_ms = Math.max(0, Math.round(now - context.startedAt));
  const events = collector?.takeEvents() ?? [];
  let { data } = output;
  let truncated = output.truncated ?? false;
  if (isLargerThan(data, maxResultBytes)) {
    if (typeof data !== "string") throw tooLarge(tool, maxResultBytes);
    data = cutText(data, maxResultBytes);
    truncated = true;
  }
  const copy = hasDataOnly(output) && events.length === 0 ? copyJson(data) : undefined;
  const result = {
    data: {
      success: output.error === undefined,
      tool_name: tool.name,
      data: copy ?? data,
      summary: output.summary ?? null,
      truncated,
      exit_code: output.exit_code ?? null,
      error: output.error ?? null,
      error_code: output.error_code ?? (output.error === undefined ? null : "tool_error"),
      duration_ms,
      events,
    },
    created_at: now / 1000,
  };
  return copy === undefined ? result : new CheckedResult(result);
}

/** Whether all the rest is ours: what tools say beside their data may be anything, whatever its type promises. */
function hasDataOnly({ summary, truncated, exit_code, error, error_code }: ToolOutput): boolean {
  return (summary ?? truncated ?? exit_code ?? error ?? error_code) === undefined;
}

function tooLarge(tool: CatalogueTool, maxBytes: number): A2EError {
  return tools.error(
    "tool_error",
    `the result of "${tool.name}" is larger than ${maxBytes} bytes or nested too deeply; ask for less (a filter, a limit, a part)`,
    { detail: { tool_name: tool.name, max_bytes: maxBytes }, retryable: false },
  );
}
