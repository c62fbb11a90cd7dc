// The code of a worker thread: imports the module that a job names, calls its export, and sends back the result.
import { AsyncLocalStorage } from "node:async_hooks";
import { parentPort } from "node:worker_threads";
import { A2EError, type ErrorJson, toErrorJson } from "../../protocol/errors.ts";
import { redirectOutput } from "./thread-output.ts";

export type ToWorker = { job: { module: string; exportName: string; args: unknown } } | { abort: string };
export type FromWorker =
  | { started: true }
  | { message: unknown }
  | { output: string }
  | { result: unknown }
  | { error: ErrorJson };

/** Passed to a job's function after its arguments. */
export interface WorkerContext {
  /** Aborted when the result is no longer needed; the thread is ended soon after. */
  readonly signal: AbortSignal;
  send(message: unknown): void;
}

type JobFunction = (args: unknown, context: WorkerContext) => unknown;

redirectOutput((output) => post({ output }));

let controller = new AbortController();

/** The job whose code runs, including timers and promises that outlive the job. */
const jobs = new AsyncLocalStorage<WorkerContext>();
let running: WorkerContext | undefined;

// An error in code that outlived its job must not fail the job that the thread runs now.
process.on("uncaughtException", (error) => {
  const job = jobs.getStore();
  if (job === undefined || job === running) throw error;
  console.warn("a job that had ended failed:", error);
});

parentPort?.on("message", (message: ToWorker) => {
  if ("abort" in message) controller.abort(new A2EError("cancelled", message.abort));
  else void runJob(message.job);
});

async function runJob(job: Extract<ToWorker, { job: unknown }>["job"]): Promise<void> {
  controller = new AbortController();
  const context: WorkerContext = {
    signal: controller.signal,
    send: (message) => {
      if (running === context) post({ message });
    },
  };
  running = context;
  try {
    // Starting the thread is not the job's time; loading its module is, for that may block as well.
    post({ started: true });
    const loaded = (await import(job.module)) as Record<string, JobFunction>;
    const run = loaded[job.exportName];
    if (run === undefined) throw new Error(`${job.module} has no export "${job.exportName}"`);
    context.signal.throwIfAborted();
    const result = await jobs.run(context, run, job.args, context);
    running = undefined;
    post({ result });
  } catch (error) {
    running = undefined;
    post({ error: toErrorJson(error) });
  }
}

function post(message: FromWorker): void {
  parentPort?.postMessage(message);
}
