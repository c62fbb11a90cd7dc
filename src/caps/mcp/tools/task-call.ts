// A tool call that runs as a task: it is started, polled, and asked for its result. In revision 2025-11-25 the caller
// requests the task, and requests of the server arrive while the result is awaited. In the extension of 2026-07-28 the
// server decides, and the state of the task includes requests and result.
import { randomUUID } from "node:crypto";
import type { CallToolResult, Progress } from "@modelcontextprotocol/client";
import * as z from "zod";
import type { JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import type { Sdk } from "../sdk/sdk.ts";
import { sleep, within } from "../sdk/within.ts";
import { rejected } from "../server/asks.ts";
import type { Connection } from "../server/connection.ts";
import { taskTokenPrefix } from "../transports/direct-requests.ts";
import { toCallResult } from "./tool-result.ts";

const taskSchema = z.looseObject({
  taskId: z.string(),
  status: z.string(),
  statusMessage: z.string().optional(),
  pollInterval: z.number().optional(),
  pollIntervalMs: z.number().optional(),
  inputRequests: z.record(z.string(), z.unknown()).optional(),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

export type Task = z.output<typeof taskSchema>;

const anything = z.looseObject({});

export interface TaskPort {
  readonly sdk: Sdk;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Fields for `_meta` of the request. */
  readonly meta?: { readonly [key: string]: string };
  /** Records the session of the task until the returned function is called. */
  own(taskId: string): () => void;
  onStatus(task: Task): void;
  onProgress(progress: Progress): void;
  /** Lets the agent answer a request of the task. */
  answer(question: unknown, signal: AbortSignal): Promise<JsonObject>;
}

export class TaskCall {
  readonly #port: TaskPort;
  #task: Task | undefined;
  #shown = "";
  /** Unique and the same on every connection: a task outlives connections, whose tokens may be reused. */
  readonly #progressToken = `${taskTokenPrefix}${randomUUID()}`;
  /** Answers of the agent: it is asked once, but its answer may have to be sent to the server again. */
  readonly #answers = new Map<string, JsonObject>();
  readonly #taken = new Set<string>();
  /** The deadline, over all connections. */
  readonly #endsAt: number;

  constructor(port: TaskPort) {
    this.#port = port;
    this.#endsAt = performance.now() + port.timeoutMs;
  }

  /** True while a task exists that has not ended. */
  get isUnderWay(): boolean {
    return this.#task !== undefined && !isOver(this.#task);
  }

  /** Starts a task. */
  run(connection: Connection, name: string, args: JsonObject): Promise<CallToolResult> {
    return this.#run(connection, () => this.#begin(connection, name, args));
  }

  /** Follows a task that the server started itself. */
  follow(connection: Connection, handle: JsonObject): Promise<CallToolResult> {
    return this.#run(connection, async () => this.#parse(handle));
  }

  /** Continues the task on another connection, after the last was lost. */
  resume(connection: Connection): Promise<CallToolResult> {
    return this.#run(connection, async () => this.#parse(this.#task));
  }

  async #run(connection: Connection, begin: () => Promise<Task>): Promise<CallToolResult> {
    const stop = connection.followProgress(this.#progressToken, (progress) => this.#port.onProgress(progress));
    try {
      return await this.#guard(connection, async (signal) => {
        this.#task = await begin();
        return this.#follow(connection, signal, this.#task);
      });
    } finally {
      stop();
    }
  }

  /** Cancels the task at the server if the caller aborts, the time is over, or the agent refuses a request. */
  async #guard(
    connection: Connection,
    work: (signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    const { signal, sdk } = this.#port;
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    const tooLate = () => stop.abort(new sdk.SdkError(sdk.SdkErrorCode.RequestTimeout, "Request timed out"));
    const timer = setTimeout(tooLate, Math.max(0, this.#endsAt - performance.now()));
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    const working = work(stop.signal);
    try {
      return await within(working, stop.signal);
    } catch (error) {
      // The task's id may arrive after the caller left; without it the task cannot be cancelled.
      if (stop.signal.aborted) void working.catch(() => this.#cancel(connection));
      // A stateless server does not learn of a refusal in any other way.
      else if (connection.isStateless && isRefusal(error)) this.#cancel(connection);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #begin(connection: Connection, name: string, args: JsonObject): Promise<Task> {
    const { timeoutMs, meta } = this.#port;
    const _meta = { ...meta, progressToken: this.#progressToken };
    const params = { name, arguments: args, task: { ttl: timeoutMs }, _meta };
    const options = { timeout: timeoutMs };
    const { task } = await connection.client.request({ method: "tools/call", params }, anything, options);
    return this.#parse(task);
  }

  async #follow(connection: Connection, signal: AbortSignal, begun: Task): Promise<CallToolResult> {
    const disown = this.#port.own(begun.taskId);
    const settled = new AbortController();
    const woken = AbortSignal.any([signal, settled.signal]);
    let result: Promise<CallToolResult> | undefined;
    const getResult = () => {
      result ??= this.#getResult(connection, signal, begun.taskId).finally(() => settled.abort());
      result.catch(() => {});
      return result;
    };
    try {
      for (let task = begun; ; task = await this.#look(connection, signal, begun.taskId)) {
        signal.throwIfAborted();
        this.#task = task;
        if (isOver(task)) return connection.isStateless ? this.#conclude(task) : await getResult();
        this.#show(task);
        if (task.status === "input_required") {
          if (connection.isStateless) await this.#answer(connection, signal, task);
          else void getResult();
        }
        await sleep(pollIntervalOf(task), woken);
        if (settled.signal.aborted) return await getResult();
      }
    } finally {
      disown();
    }
  }

  async #look({ client }: Connection, signal: AbortSignal, taskId: string): Promise<Task> {
    const options = { signal, timeout: this.#port.timeoutMs };
    return this.#parse(await client.request({ method: "tasks/get", params: { taskId } }, anything, options));
  }

  async #getResult({ client }: Connection, signal: AbortSignal, taskId: string): Promise<CallToolResult> {
    const options = { signal, timeout: this.#port.timeoutMs };
    const request = { method: "tasks/result", params: { taskId } };
    return toCallResult(await client.request(request, anything, options), this.#port.sdk);
  }

  #conclude({ status, statusMessage = "", result, error }: Task): CallToolResult {
    const { ProtocolError, ProtocolErrorCode } = this.#port.sdk;
    if (status === "completed") return toCallResult(result, this.#port.sdk);
    if (error !== undefined) throw ProtocolError.fromError(error.code, error.message, error.data);
    throw new ProtocolError(ProtocolErrorCode.InternalError, `the server ended the task: ${statusMessage || status}`);
  }

  async #answer({ client }: Connection, signal: AbortSignal, { taskId, inputRequests = {} }: Task): Promise<void> {
    // A server repeats a request until it has received the answer.
    const asked = Object.entries(inputRequests).filter(([key]) => !this.#taken.has(key));
    if (asked.length === 0) return;
    const answers = await Promise.all(
      asked.map(async ([key, question]) => {
        const answer = this.#answers.get(key) ?? (await this.#port.answer(question, signal));
        this.#answers.set(key, answer);
        return [key, answer] as const;
      }),
    );
    const params = { taskId, inputResponses: Object.fromEntries(answers) };
    await client.request({ method: "tasks/update", params }, anything, { signal, timeout: this.#port.timeoutMs });
    for (const [key] of answers) this.#taken.add(key);
  }

  #cancel({ client, isStateless }: Connection): void {
    if (this.#task === undefined || isOver(this.#task)) return;
    if (!isStateless && client.getServerCapabilities()?.tasks?.cancel === undefined) return;
    const request = { method: "tasks/cancel", params: { taskId: this.#task.taskId } };
    client.request(request, anything, { timeout: mcpLimits.pingTimeoutMs }).catch(() => {});
  }

  #show(task: Task): void {
    const shown = JSON.stringify([task.status, task.statusMessage]);
    if (shown !== this.#shown) this.#port.onStatus(task);
    this.#shown = shown;
  }

  #parse(value: unknown): Task {
    const parsed = taskSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    const { SdkError, SdkErrorCode } = this.#port.sdk;
    throw new SdkError(SdkErrorCode.InvalidResult, `the server sent an invalid task: ${parsed.error.message}`);
  }
}

function isOver({ status }: Task): boolean {
  return status !== "working" && status !== "input_required";
}

/** The agent refused a request of the server. */
function isRefusal(error: unknown): boolean {
  return (error as { code?: unknown }).code === rejected;
}

function pollIntervalOf({ pollInterval, pollIntervalMs }: Task): number {
  const wanted = pollIntervalMs ?? pollInterval ?? mcpLimits.taskPollIntervalMs;
  return Math.max(mcpLimits.minTaskPollIntervalMs, Math.min(wanted, mcpLimits.maxTaskPollIntervalMs));
}
