// Finds, checks and runs one tool, and limits its result. A synchronous tool is answered synchronously.

import { nearest } from "../../machinery/nearest.ts";
import { cutText, isLargerThan } from "../../machinery/validation/json-size.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import type { CatalogueTool, ToolCatalogue } from "../../plugin/tool-catalogue.ts";
import type { ToolOutput } from "../../plugin/tool-output.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import { schemaViolation } from "./problems.ts";
import { tools } from "./protocol.ts";

export interface ToolRunSettings {
  readonly catalogue: ToolCatalogue;
  readonly isAllowed: (name: string) => boolean;
  /** Tools that exist but are not in the catalogue because they are denied. */
  readonly deniedNames: ReadonlySet<string>;
  readonly maxResultBytes: number;
}

/** Throws an A2EError. A rejection of the returned promise still has to be converted with `toToolError`. */
export function runTool(tool: CatalogueTool, args: JsonObject, context: CallContext): ToolOutput | Promise<ToolOutput> {
  const checked = tool.check(args);
  if ("problems" in checked) throw schemaViolation(tool.name, checked.problems);
  try {
    return tool.run(checked.value, context);
  } catch (error) {
    throw toToolError(error, tool);
  }
}

/**
 * Runs a pure tool without a call of its own, within `inlineCall`. Undefined unless the result is plain data: then the
 * caller makes an ordinary call, which runs the tool again, reports its error or cuts its text, and is audited.
 */
export function runPureTool(
  tool: CatalogueTool,
  args: JsonObject,
  context: CallContext,
  settings: ToolRunSettings,
): JsonValue | undefined {
  if (isDenied(tool.name, settings)) return undefined;
  try {
    const checked = tool.check(copyJson(args));
    if ("problems" in checked) return undefined;
    const output = tool.run(checked.value, context);
    if (output instanceof Promise) return forget(output);
    const isPlain = hasDataOnly(output) && !isLargerThan(output.data, settings.maxResultBytes);
    return isPlain ? copyJson(output.data) : undefined;
  } catch {
    return undefined;
  }
}

/** A wrapper of a pure tool may be asynchronous; its promise is not used, and a rejection must not end the process. */
function forget(output: Promise<ToolOutput>): undefined {
  output.catch(() => {});
}

/** True if the output has nothing but data. Other fields come from the tool and may have any type at runtime. */
export function hasDataOnly({ summary, truncated, exit_code, error, error_code }: ToolOutput): boolean {
  return (summary ?? truncated ?? exit_code ?? error ?? error_code) === undefined;
}

/** Cuts a text that is too large, and rejects any other data. */
export function limitData(tool: CatalogueTool, data: JsonValue, maxBytes: number): JsonValue {
  if (!isLargerThan(data, maxBytes)) return data;
  if (typeof data !== "string") throw tooLarge(tool, maxBytes);
  return cutText(data, maxBytes);
}

function tooLarge(tool: CatalogueTool, maxBytes: number): A2EError {
  return tools.error(
    "tool_error",
    `the result of "${tool.name}" is larger than ${maxBytes} bytes or nested too deeply; ask for less (a filter, a limit, a part)`,
    { detail: { tool_name: tool.name, max_bytes: maxBytes }, retryable: false },
  );
}

export function findTool(name: string, { catalogue, isAllowed, deniedNames }: ToolRunSettings): CatalogueTool {
  const tool = catalogue.get(name);
  const isDenied = deniedNames.size > 0 && deniedNames.has(name);
  if (isDenied || (tool !== undefined && !isAllowed(name))) {
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
  const hint = similar[0] === undefined ? "tool/list/req lists the tools" : `did you mean "${similar[0]}"?`;
  throw tools.error("unknown_tool", `there is no tool "${name.slice(0, 128)}"; ${hint}`, {
    detail: { tool_name: name.slice(0, 128), similar },
  });
}

function isDenied(name: string, { isAllowed, deniedNames }: ToolRunSettings): boolean {
  return !isAllowed(name) || (deniedNames.size > 0 && deniedNames.has(name));
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
 * An A2EError of a tool keeps its code; any other error becomes a `tool_error` with the tool's own text. The kernel
 * rejects codes that are in no table.
 */
export function toToolError(error: unknown, tool: CatalogueTool): A2EError {
  if (error instanceof A2EError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return tools.error("tool_error", text === "" ? `"${tool.name}" failed` : text, {
    cause: error,
    detail: { tool_name: tool.name },
  });
}
