// Runs one tool for one request, and converts its output to the answer.
import type { CallContext } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";
import { hasFailed, type ToolOutput } from "../../plugin/tool-output.ts";
import { copyJson } from "../../protocol/json.ts";
import type { RequestOf, ResultInputOf, ResultOf } from "../../protocol/table/capability.ts";
import { CollectingContext } from "./collecting-context.ts";
import type { tools } from "./protocol.ts";
import { findTool, hasDataOnly, limitData, runTool, type ToolRunSettings, toToolError } from "./tool-run.ts";

type CallRequest = RequestOf<(typeof tools.calls)["call"]>;
type CallTable = (typeof tools.calls)["call"];
type CallResult = ResultInputOf<CallTable> | CheckedResult<ResultOf<CallTable>>;

interface ToolCallSettings extends ToolRunSettings {
  readonly maxCollectedEvents: number;
}

export function callTool(
  request: CallRequest,
  context: CallContext,
  settings: ToolCallSettings,
): CallResult | Promise<CallResult> {
  const tool = findTool(request.tool_name, settings);
  const isSilent = request.streaming || tool.isPure === true;
  const collector = isSilent ? undefined : new CollectingContext(context, settings.maxCollectedEvents);
  const output = runTool(tool, request.arguments, collector ?? context);
  if (!(output instanceof Promise)) return toResult(output, tool, context, collector, settings.maxResultBytes);
  // Only a call that is still running can time out; the time is counted from the start of the call.
  const timeoutMs = request.timeout > 0 ? request.timeout * 1000 : tool.timeoutMs;
  if (timeoutMs !== undefined) context.setTimeout(timeoutMs);
  return toResultLater(output, tool, context, collector, settings.maxResultBytes);
}

/** Separate from `callTool`, which would otherwise allocate the closure's variables with every call. */
function toResultLater(
  output: Promise<ToolOutput>,
  tool: CatalogueTool,
  context: CallContext,
  collector: CollectingContext | undefined,
  maxResultBytes: number,
): Promise<CallResult> {
  return output.then(
    (settled) => toResult(settled, tool, context, collector, maxResultBytes),
    (error: unknown) => {
      throw toToolError(error, tool);
    },
  );
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
  const data = limitData(tool, output.data, maxResultBytes);
  const copy = hasDataOnly(output) && events.length === 0 ? copyJson(data) : undefined;
  const result = {
    data: {
      success: !hasFailed(output),
      tool_name: tool.name,
      // Not with `??`: the copy of NaN, for example, is null, and the original must not be sent then.
      data: copy === undefined ? data : copy,
      summary: output.summary ?? null,
      truncated: data === output.data ? (output.truncated ?? false) : true,
      exit_code: output.exit_code ?? null,
      error: output.error ?? null,
      error_code: output.error_code ?? (hasFailed(output) ? "tool_error" : null),
      duration_ms,
      events,
    },
    created_at: now / 1000,
  };
  return copy === undefined ? result : new CheckedResult(result);
}
