// Events of a running call as progress and log messages of MCP.
import type { LoggingLevel, ServerContext } from "@modelcontextprotocol/server";
import type { CallEvent } from "../../client/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";

/** Returns a function that forwards the events of one call. Progress is sent only if the client asked for it. */
export function createEventForwarder({ mcpReq }: ServerContext, logger: string): (event: CallEvent) => void {
  const progressToken = mcpReq._meta?.progressToken;
  let lastProgress = Number.NEGATIVE_INFINITY;
  return ({ kind, data }) => {
    if (kind === "log") return void mcpReq.log(toLevel(data.level), data, logger).catch(ignore);
    if (progressToken === undefined) return;
    // MCP requires progress to grow with every message, which tools do not guarantee.
    const told = firstNumber(data, ["progress", "done", "current"]);
    const progress = told !== undefined && told > lastProgress ? told : Math.max(lastProgress, 0) + 1;
    lastProgress = progress;
    const total = firstNumber(data, ["total", "count", "max"]);
    const params = {
      progressToken,
      progress,
      ...(total === undefined || told !== progress ? {} : { total }),
      message: toMessage(kind, data),
    };
    void mcpReq.notify({ method: "notifications/progress", params }).catch(ignore);
  };
}

/** A failed notification is ignored: the client still gets the result. */
function ignore(): void {}

function firstNumber(data: JsonObject, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = data[name];
    if (typeof value === "number") return value;
  }
  return undefined;
}

function toMessage(kind: string, data: JsonObject): string {
  for (const name of ["message", "text", "status", "value"]) {
    const value = data[name];
    if (typeof value === "string") return value;
  }
  return Object.keys(data).length === 0 ? kind : JSON.stringify(data);
}

const levels: Readonly<Record<string, LoggingLevel>> = {
  trace: "debug",
  debug: "debug",
  info: "info",
  notice: "notice",
  warn: "warning",
  warning: "warning",
  error: "error",
  fatal: "critical",
  critical: "critical",
};

function toLevel(level: JsonValue | undefined): LoggingLevel {
  return (typeof level === "string" ? levels[level.toLowerCase()] : undefined) ?? "info";
}
