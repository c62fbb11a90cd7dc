// Processes that run queries, one query at a time each. A query that takes too much time or memory ends its own process
// only.
import { type ChildProcess, fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { siblingModule } from "../../../../machinery/threads/thread-entry.ts";
import type { Logger } from "../../../../plugin/logger.ts";
import { A2EError } from "../../../../protocol/errors.ts";
import { toolkitLimits } from "../../limits.ts";
import type { QueryJob, QueryResult } from "./sqlite-query.ts";
import type { QueryAnswer, QueryMessage } from "./sqlite-query-thread.ts";

interface SqliteProcessesOptions {
  /** The maximum number of processes, and so of queries that run at the same time. */
  size: number;
  memoryMb: number;
  log: Logger;
}

interface QueryOptions {
  /** The session of the query. Sessions take turns, so that one with many queries does not delay the others. */
  owner: string;
  timeoutMs: number;
  signal: AbortSignal;
}

interface PendingQuery {
  readonly owner: string;
  readonly job: QueryJob;
  readonly timeoutMs: number;
  settle(outcome: QueryAnswer | Error): void;
}

interface QueryProcess {
  readonly child: ChildProcess;
  query: PendingQuery | undefined;
  timer: NodeJS.Timeout | undefined;
}

type Query = Omit<QueryJob, "memoryMb" | "maxSqlLength" | "busyMs">;

export class SqliteProcesses {
  readonly #options: SqliteProcessesOptions;
  readonly #processes = new Set<QueryProcess>();
  readonly #queue: PendingQuery[] = [];
  #lastOwner: string | undefined;
  #isClosed = false;

  constructor(options: SqliteProcessesOptions) {
    this.#options = options;
  }

  /** Rejects with the error of SQLite, with `signal.reason`, or with `timeout`, `out_of_memory` or `sandbox_crash`. */
  run(query: Query, { owner, timeoutMs, signal }: QueryOptions): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new A2EError("cancelled", "the host is closing");
      signal.throwIfAborted();
      if (this.#queue.filter((waiting) => waiting.owner === owner).length >= toolkitLimits.sqliteMaxQueued)
        throw new A2EError(
          "rate_limited",
          `${toolkitLimits.sqliteMaxQueued} queries of this session are waiting, the maximum`,
          {
            detail: { limit: "sqliteMaxQueued", retry_after_ms: 1000 },
          },
        );
      const { memoryMb } = this.#options;
      const onAbort = () => this.#giveUp(pending, signal.reason as Error);
      const pending: PendingQuery = {
        owner,
        job: { ...query, memoryMb, maxSqlLength: toolkitLimits.sqliteMaxSqlLength, busyMs: Math.min(timeoutMs, 5000) },
        timeoutMs,
        settle(outcome) {
          signal.removeEventListener("abort", onAbort);
          if (outcome instanceof Error) reject(outcome);
          else if ("result" in outcome) resolve(outcome.result);
          else if (outcome.isOutOfMemory) reject(outOfMemory(memoryMb));
          else reject(new Error(outcome.error));
        },
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(pending);
      this.#assign();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const error = new A2EError("cancelled", "the host is closing");
    for (const query of this.#queue.splice(0)) query.settle(error);
    await Promise.all(Array.from(this.#processes, (runner) => this.#end(runner, error)));
  }

  #assign(): void {
    while (this.#queue.length > 0) {
      const free = [...this.#processes].find(({ query }) => query === undefined) ?? this.#create();
      const query = free === undefined ? undefined : this.#takeNext();
      if (free === undefined || query === undefined) return;
      this.#start(free, query);
    }
  }

  /** The oldest query of a session that has no query running and was not served last; otherwise the oldest query. */
  #takeNext(): PendingQuery | undefined {
    const served = new Set([this.#lastOwner, ...Array.from(this.#processes, ({ query }) => query?.owner)]);
    const index = this.#queue.findIndex(({ owner }) => !served.has(owner));
    const [next] = this.#queue.splice(Math.max(0, index), 1);
    this.#lastOwner = next?.owner;
    return next;
  }

  #create(): QueryProcess | undefined {
    if (this.#processes.size >= this.#options.size) return undefined;
    const entry = siblingModule("sqlite-process-entry", import.meta.url);
    const child = fork(fileURLToPath(entry), {
      // A query must not see the environment of the host.
      env: {},
      execArgv: [`--max-old-space-size=${this.#options.memoryMb}`, ...loaderFor(entry)],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const runner: QueryProcess = { child, query: undefined, timer: undefined };
    child.on("message", (message: QueryMessage) => {
      if ("started" in message) this.#limit(runner);
      else this.#finish(runner, message);
    });
    child.on("error", (cause) => void this.#end(runner, crash(cause.message)));
    child.on("exit", (code, signal) => void this.#end(runner, crash(signal ?? `exit code ${code}`)));
    this.#processes.add(runner);
    return runner;
  }

  #start(runner: QueryProcess, query: PendingQuery): void {
    clearTimeout(runner.timer);
    runner.query = query;
    runner.child.ref();
    runner.child.channel?.ref();
    // A new process must start first; its start does not count as time of the query.
    const late = new A2EError("timeout", "no process for the query was ready in time");
    runner.timer = setTimeout(() => void this.#end(runner, late), toolkitLimits.sqliteStartMs);
    runner.child.send(query.job, (cause) => {
      if (cause !== null) void this.#end(runner, crash(cause.message));
    });
  }

  #limit(runner: QueryProcess): void {
    const timeoutMs = runner.query?.timeoutMs ?? 0;
    const late = new A2EError("timeout", `the query did not end within ${timeoutMs / 1000} s`);
    clearTimeout(runner.timer);
    runner.timer = setTimeout(() => void this.#end(runner, late), timeoutMs);
  }

  #finish(runner: QueryProcess, answer: QueryAnswer): void {
    const { query } = runner;
    clearTimeout(runner.timer);
    runner.query = undefined;
    query?.settle(answer);
    this.#assign();
    if (runner.query !== undefined || !this.#processes.has(runner)) return;
    // An idle process does not keep the host alive, and is ended after a while to free its memory.
    runner.child.unref();
    runner.child.channel?.unref();
    runner.timer = setTimeout(() => void this.#end(runner, undefined), toolkitLimits.sqliteIdleMs);
    runner.timer.unref();
  }

  /** The call of the query has ended. */
  #giveUp(query: PendingQuery, reason: Error): void {
    const queuedAt = this.#queue.indexOf(query);
    if (queuedAt >= 0) this.#queue.splice(queuedAt, 1);
    for (const runner of this.#processes) if (runner.query === query) void this.#end(runner, reason);
    query.settle(reason);
  }

  async #end(runner: QueryProcess, error: Error | undefined): Promise<void> {
    clearTimeout(runner.timer);
    const { child, query } = runner;
    runner.query = undefined;
    const wasThere = this.#processes.delete(runner);
    if (error !== undefined) query?.settle(error);
    if (!wasThere) return;
    const isGone = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    const gone = isGone ? undefined : new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    if (!this.#isClosed) this.#assign();
    await gone;
  }
}

/** TypeScript sources need a loader. */
function loaderFor(entry: string): string[] {
  if (!entry.endsWith(".ts")) return [];
  return ["--import", pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href];
}

function crash(reason: string): A2EError {
  return new A2EError("sandbox_crash", `the process of the query ended: ${reason}`);
}

function outOfMemory(memoryMb: number): A2EError {
  return new A2EError("out_of_memory", `the query needs more than ${memoryMb} MB; reduce its result`);
}
