// One call of a tool, from the catalogue to the server and back.
import type { Progress } from "@modelcontextprotocol/client";
import type { CallContext } from "../../host/call-context.ts";
import type { ToolOutput } from "../../host/tool-catalogue.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Connection } from "./connection.ts";
import { toToolOutput } from "./content.ts";
import { cut, toolNotFound } from "./problems.ts";
import { mcp } from "./protocol.ts";
import type { ServerConfig } from "./server-config.ts";

interface ToolServer {
  readonly config: ServerConfig;
  use<Result>(
    caller: { sessionId: string; signal: AbortSignal },
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result>;
  syncSoon(): void;
}

export function callTool(
  server: ToolServer,
  name: string,
  args: JsonObject,
  context: CallContext,
): Promise<ToolOutput> {
  const { signal, session } = context;
  const onProgress = ({ progress, total, message }: Progress) =>
    context.emit("progress", {
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message: cut(message) } : {}),
    });
  const options = { signal, onProgress, timeoutMs: server.config.timeoutMs };
  return server
    .use({ sessionId: session.id, signal }, (connection) => connection.callTool(name, args, options))
    .then(toToolOutput, (error: unknown) => {
      throw toToolError(error, name, server);
    });
}

/** The code of JSON-RPC for both a tool that there is not and arguments that it does not take. */
const invalidParams = -32602;

/** A server tells the one from the other in words alone. */
function toToolError(error: unknown, name: string, server: ToolServer): unknown {
  if (!(error instanceof A2EError) || error.detail.mcp_code !== invalidParams) return error;
  if (!/unknown tool|tool .*not found|no such tool/i.test(error.message))
    return mcp.error("schema_violation", error.message, { detail: error.detail });
  server.syncSoon();
  return toolNotFound(server.config.id, name);
}
