// Runs functions of modules in worker threads, so that code which blocks, loops or crashes cannot stop the host. The
// pool is independent of the code it runs. A thread shares the process: this contains accidents, it is not a sandbox
// against attackers.
import { type ResourceLimits, type TransferListItem, Worker } from "node:worker_threads";
import { A2EError, fromErrorJson, messageOf } from "../../protocol/errors.ts";
import { threadEntry } from "./thread-entry.ts";
import type { FromWorker, ToWorker } from "./worker-entry.ts";

export interface WorkerJob {
  /** URL of the module to import in the worker. */
  readonly module: string;
  /** Its export to call, as `(args, context: WorkerContext) => result`. */
  readonly exportName: string;
  /** Copied to the worker, as is the result from it. */
  readonly args: unknown;
  /** The parts of the arguments that are transferred instead of copied, such as a MessagePort. */
  readonly transfer?: readonly TransferListItem[];
}

export interface WorkerJobOptions {
  /** Ends the job: it rejects with `signal.reason` at once, and its worker with it unless the job stops by itself. */
  signal?: AbortSignal;
  /** Counted from when a worker takes the job. */
  timeoutMs?: number;
  /**
   * The owner of the job. The owner with the fewest running jobs goes first, and if a single owner uses all workers,
   * an extra worker runs the jobs of the others.
   */
  owner?: string;
  /**
   * Receives the job's `context.send` messages, in order, before the job settles. If this throws, the job rejects with
   * that error.
   */
  onMessage?(message: unknown): void;
}

export interface WorkerPoolOptions {
  /** Workers at most, and so jobs at once. */
  size?: number;
  /** Jobs that wait for a worker; beyond it `rate_limited`. */
  maxQueuedJobs?: number;
  /** A worker without work for this long is ended. */
  idleMs?: number;
  /** After an abort, a job may take this long before its worker is ended. */
  abortGraceMs?: number;
  resourceLimits?: ResourceLimits;
  /** Receives the output that a job prints; by default it is dropped. */
  log?: { info(message: string, fields: { text: string }): void };
}

interface PendingJob extends WorkerJob, WorkerJobOptions {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface PooledWorker {
  readonly thread: Worker;
  job: PendingJob | undefined;
  /** Set between the end of a job that was cut off and the moment its worker is free or gone. */
  isStopping: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class WorkerPool {
  readonly #options: Required<WorkerPoolOptions>;
  readonly #workers = new Set<PooledWorker>();
  readonly #queue: PendingJob[] = [];
  #isClosed = false;

  constructor(options: WorkerPoolOptions = {}) {
    this.#options = {
      size: 2,
      maxQueuedJobs: 1024,
      idleMs: 30_000,
      abortGraceMs: 100,
      resourceLimits: { maxOldGenerationSizeMb: 256, stackSizeMb: 4 },
      log: { info() {} },
      ...options,
    };
  }

  /** Rejects with the job's own error, with `signal.reason`, or with `timeout`, `out_of_memory` or `sandbox_crash`. */
  run(job: WorkerJob, options: WorkerJobOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new A2EError("cancelled", "the worker pool is closed");
      options.signal?.throwIfAborted();
      if (this.#queue.length >= this.#options.maxQueuedJobs) {
        throw new A2EError("rate_limited", "too many jobs wait for a worker", { detail: { retry_after_ms: 1000 } });
      }
      const { signal } = options;
      const onAbort = () => this.#abort(pending, signal?.reason);
      const settle = () => signal?.removeEventListener("abort", onAbort);
      const pending: PendingJob = {
        ...job,
        ...options,
        resolve: (result) => {
          settle();
          resolve(result);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(pending);
      this.#assign();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const error = new A2EError("cancelled", "the worker pool was closed");
    for (const job of this.#queue.splice(0)) job.reject(error);
    const threads = [...this.#workers].map((worker) => {
      this.#end(worker, error);
      return worker.thread.terminate();
    });
    await Promise.all(threads);
  }

  #assign(): void {
    for (let job = this.#next(); job !== undefined; job = this.#next()) {
      const worker = this.#freeWorker(job);
      if (worker === undefined) return;
      this.#queue.splice(this.#queue.indexOf(job), 1);
      this.#start(worker, job);
    }
  }

  #freeWorker(job: PendingJob): PooledWorker | undefined {
    for (const worker of this.#workers) if (worker.job === undefined && !worker.isStopping) return worker;
    const { size } = this.#options;
    const isTakenByOne = this.#workers.size === size && this.#areAllOfOneOther(job.owner);
    return this.#workers.size < size || isTakenByOne ? this.#create() : undefined;
  }

  /** Whether a single owner, other than this one, uses all workers. */
  #areAllOfOneOther(owner: string | undefined): boolean {
    const owners = new Set(Array.from(this.#workers, ({ job }) => job?.owner));
    return owner !== undefined && owners.size === 1 && !owners.has(undefined) && !owners.has(owner);
  }

  /** The job to start next: the oldest of the owner with the fewest running. The worker for others is for others. */
  #next(): PendingJob | undefined {
    let next: PendingJob | undefined;
    let fewest = this.#options.size;
    for (const job of this.#queue) {
      const running = job.owner === undefined ? 0 : this.#runningOf(job.owner);
      if (running === 0) return job;
      if (running >= fewest) continue;
      next = job;
      fewest = running;
    }
    return next;
  }

  #runningOf(owner: string): number {
    let count = 0;
    for (const { job } of this.#workers) if (job?.owner === owner) count += 1;
    return count;
  }

  #create(): PooledWorker {
    const { resourceLimits } = this.#options;
    // Printed text must not reach the host's stdout, which may carry the protocol.
    const thread = new Worker(threadEntry("worker-entry", import.meta.url), {
      resourceLimits,
      stdout: true,
      stderr: true,
    });
    const worker: PooledWorker = { thread, job: undefined, isStopping: false, timer: undefined };
    thread.on("message", (message: FromWorker) => this.#receive(worker, message));
    thread.on("error", (error) => this.#end(worker, toCrash(error)));
    thread.on("messageerror", (error) => this.#end(worker, toCrash(error)));
    thread.on("exit", (code) =>
      this.#end(worker, new A2EError("sandbox_crash", `the worker ended with exit code ${code}`)),
    );
    this.#workers.add(worker);
    return worker;
  }

  #start(worker: PooledWorker, job: PendingJob): void {
    clearTimeout(worker.timer);
    worker.job = job;
    worker.thread.ref();
    try {
      const message: ToWorker = { job: { module: job.module, exportName: job.exportName, args: job.args } };
      worker.thread.postMessage(message, job.transfer);
    } catch (error) {
      job.reject(error);
      this.#release(worker);
    }
  }

  #receive(worker: PooledWorker, message: FromWorker): void {
    const { job } = worker;
    if ("started" in message) {
      if (job?.timeoutMs === undefined) return;
      worker.timer = setTimeout(() => {
        const error = new A2EError("timeout", `no result within ${(job.timeoutMs ?? 0) / 1000} s`);
        this.#abort(job, error);
      }, job.timeoutMs);
      return;
    }
    if ("output" in message) {
      this.#options.log.info("worker output", { text: message.output });
      return;
    }
    if ("message" in message) {
      try {
        job?.onMessage?.(message.message);
      } catch (error) {
        if (job !== undefined) this.#abort(job, error);
      }
      return;
    }
    if ("error" in message) job?.reject(fromErrorJson(message.error));
    else job?.resolve(message.result);
    this.#release(worker);
  }

  /** The caller is answered now; the worker is free again once the job has stopped, or is ended. */
  #abort(job: PendingJob, reason: unknown): void {
    job.reject(reason);
    const queuedAt = this.#queue.indexOf(job);
    if (queuedAt >= 0) this.#queue.splice(queuedAt, 1);
    for (const worker of this.#workers) {
      if (worker.job !== job) continue;
      worker.job = undefined;
      worker.isStopping = true;
      const message: ToWorker = { abort: messageOf(reason) };
      worker.thread.postMessage(message);
      clearTimeout(worker.timer);
      worker.timer = setTimeout(() => this.#end(worker, reason), this.#options.abortGraceMs);
    }
  }

  #release(worker: PooledWorker): void {
    clearTimeout(worker.timer);
    worker.job = undefined;
    worker.isStopping = false;
    if (!this.#workers.has(worker)) return;
    this.#assign();
    if (worker.job !== undefined) return;
    // An idle worker keeps neither the process nor, for long, its memory.
    worker.thread.unref();
    worker.timer = setTimeout(() => this.#end(worker, undefined), this.#options.idleMs);
    worker.timer.unref();
  }

  #end(worker: PooledWorker, error: unknown): void {
    clearTimeout(worker.timer);
    const { job } = worker;
    worker.job = undefined;
    if (this.#workers.delete(worker)) void worker.thread.terminate();
    job?.reject(error);
    if (!this.#isClosed) this.#assign();
  }
}

export function toCrash(error: unknown): A2EError {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  if (isMemory) return new A2EError("out_of_memory", "the worker reached its memory limit", { cause: error });
  const text = messageOf(error);
  return new A2EError("sandbox_crash", `the worker crashed: ${text}`, { cause: error });
}
