// One call of a tool, from the catalogue to the server and back.
import type { CallToolResult, Progress, Tool } from "@modelcontextprotocol/client";
import type { CallContext } from "../../../host/call-context.ts";
import type { ToolOutput } from "../../../host/tool-output.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { toToolOutput } from "../content/content.ts";
import { mcpLimits } from "../limits.ts";
import { cut, toolNotFound } from "../problems.ts";
import { mcp } from "../protocol.ts";
import type { Redaction } from "../redaction.ts";
import { sleep } from "../sdk/within.ts";
import type { Connection } from "../server/connection.ts";
import type { ServerConfig } from "../server-config.ts";
import { taskHandleOf } from "../transports/task-handle.ts";
import { type Task, TaskCall, type TaskPort } from "./task-call.ts";

export interface ToolServer {
  readonly config: ServerConfig;
  readonly redact: Redaction;
  use<Result>(
    caller: { sessionId: string; signal: AbortSignal },
    work: (connection: Connection) => Promise<Result>,
  ): Promise<Result>;
  /** What tasks of a session need of the server. */
  tasksOf(sessionId: string): Pick<TaskPort, "sdk" | "own" | "answer">;
  /** Waits for a server that was lost. Rejects where it will not come back. */
  comeBack(signal: AbortSignal): Promise<unknown>;
  syncSoon(): void;
}

export function callTool(server: ToolServer, tool: Tool, args: JsonObject, context: CallContext): Promise<ToolOutput> {
  const { signal, session } = context;
  const { redact } = server;
  const { id, timeoutMs } = server.config;
  const options = { signal, timeoutMs, onProgress: (progress: Progress) => emitProgress(context, progress, redact) };
  let task: TaskCall | undefined;
  const createTask = () => {
    const onStatus = (state: Task) => emitStatus(context, state, redact);
    task ??= new TaskCall({ ...server.tasksOf(session.id), ...options, onStatus });
    return task;
  };
  const work = (connection: Connection): Promise<CallToolResult> => {
    // To call again would have the tool do again what it is at.
    if (task?.isUnderWay === true) return task.resume(connection);
    if (runsAsTask(tool, connection)) return createTask().run(connection, tool.name, args);
    const calling = connection.callTool(tool.name, args, options);
    if (!connection.isStateless) return calling;
    return calling.then((result) => {
      const handle = taskHandleOf(result);
      return handle === undefined ? result : createTask().follow(connection, handle);
    });
  };
  const use = () => server.use({ sessionId: session.id, signal }, work);
  const toOutput = (result: CallToolResult) => toToolOutput(result, id, redact);
  return use().then(toOutput, (error: unknown) => {
    if (task?.isUnderWay !== true) throw toToolError(error, tool.name, server);
    return goOn(server, task, error, use, signal).then(toOutput);
  });
}

/**
 * A server elsewhere goes on with a task when the way to it is cut, and whoever has its id can go back to it. One that is a
 * program of ours has ended with the way, and its next run may give the same id to another.
 */
async function goOn(
  server: ToolServer,
  task: TaskCall,
  cause: unknown,
  use: () => Promise<CallToolResult>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  for (let error = cause; ; ) {
    if (server.config.endpoint.transport === "stdio" || !task.isUnderWay || !isCut(error)) throw error;
    // Where only what is behind the connection is away, there is nothing else to wait for.
    await sleep(mcpLimits.initialBackoffMs, signal);
    await server.comeBack(signal);
    try {
      return await use();
    } catch (next) {
      error = next;
    }
  }
}

/** The server was not reached, or something in front of it said that it is not there now. */
function isCut(error: unknown): boolean {
  if (!(error instanceof A2EError)) return false;
  const { http_status = 503 } = error.detail;
  if (error.code === "mcp_transport_error") return Number(http_status) >= 500;
  return error.code === "mcp_server_unavailable";
}

function emitProgress(context: CallContext, { progress, total, message }: Progress, redact: Redaction): void {
  context.emit("progress", {
    progress,
    ...(typeof total === "number" ? { total } : {}),
    ...(typeof message === "string" ? { message: cut(redact(message)) } : {}),
  });
}

function emitStatus(context: CallContext, { taskId, status, statusMessage }: Task, redact: Redaction): void {
  context.emit("status", {
    task_id: cut(taskId),
    status,
    ...(statusMessage === undefined ? {} : { message: cut(redact(statusMessage)) }),
  });
}

/** The caller has to say so in the one revision that knows it; in the next the server does it of itself. */
function runsAsTask({ execution }: Tool, { client, isStateless }: Connection): boolean {
  if (isStateless || execution?.taskSupport !== "required") return false;
  return client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
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
