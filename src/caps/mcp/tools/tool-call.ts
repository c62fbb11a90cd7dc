// One call of a tool, from the catalogue to the server and back.
import type { CallToolResult, Progress, Tool } from "@modelcontextprotocol/client";
import type { CallContext } from "../../../plugin/call-context.ts";
import type { ToolOutput } from "../../../plugin/tool-output.ts";
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
  /** The functions of the server that tasks of a session use. */
  tasksOf(sessionId: string): Pick<TaskPort, "sdk" | "own" | "answer">;
  /** Waits for a lost server. Rejects if it will not be reconnected. */
  comeBack(signal: AbortSignal): Promise<unknown>;
  syncSoon(): void;
}

export function callTool(server: ToolServer, tool: Tool, args: JsonObject, context: CallContext): Promise<ToolOutput> {
  const { signal, session, traceparent } = context;
  const { redact } = server;
  const { id, timeoutMs } = server.config;
  const meta = traceparent === undefined ? {} : { meta: { traceparent } };
  const options = {
    signal,
    timeoutMs,
    ...meta,
    onProgress: (progress: Progress) => emitProgress(context, progress, redact),
  };
  let task: TaskCall | undefined;
  const createTask = () => {
    const onStatus = (state: Task) => emitStatus(context, state, redact);
    task ??= new TaskCall({ ...server.tasksOf(session.id), ...options, onStatus });
    return task;
  };
  const work = (connection: Connection): Promise<CallToolResult> => {
    // Calling the tool again would repeat its work.
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
 * A remote server continues a task when the connection is lost, and the task can be resumed by its id. A stdio server
 * ends with its connection, and its next process may assign the same id to another task.
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
    // If the connection is open and only a service behind it is down, comeBack() does not wait.
    await sleep(mcpLimits.initialBackoffMs, signal);
    await server.comeBack(signal);
    try {
      return await use();
    } catch (next) {
      error = next;
    }
  }
}

/** The server was not reached, or a proxy in front of it reported that it is down. */
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

/** Only revision 2025-11-25 lets the caller decide; in the next revision the server does. */
function runsAsTask({ execution }: Tool, { client, isStateless }: Connection): boolean {
  if (isStateless || execution?.taskSupport !== "required") return false;
  return client.getServerCapabilities()?.tasks?.requests?.tools?.call !== undefined;
}

/** The JSON-RPC code both for an unknown tool and for invalid arguments. */
const invalidParams = -32602;

/** Servers distinguish the two cases only in the text. */
function toToolError(error: unknown, name: string, server: ToolServer): unknown {
  if (!(error instanceof A2EError) || error.detail.mcp_code !== invalidParams) return error;
  if (!/unknown tool|tool .*not found|no such tool/i.test(error.message))
    return mcp.error("schema_violation", error.message, { detail: error.detail });
  server.syncSoon();
  return toolNotFound(server.config.id, name);
}
