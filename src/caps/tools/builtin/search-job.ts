// Searches run in a thread: a regular expression may take practically forever, and a thread can be terminated.

import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import type { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { toolLimits } from "../limits.ts";

/** Runs a function of a module of this folder; rejects with advice if it times out. */
export async function runSearch<Result>(
  pool: WorkerPool,
  [module, exportName]: readonly [module: string, exportName: string],
  args: object,
  { session, signal }: Pick<CallContext, "session" | "signal">,
): Promise<Result> {
  const job = { module: siblingModule(module, import.meta.url), exportName, args };
  try {
    return (await pool.run(job, { signal, timeoutMs: toolLimits.searchTimeoutMs, owner: session.id })) as Result;
  } catch (error) {
    if (!(error instanceof A2EError) || error.code !== "timeout" || signal.aborted) throw error;
    const seconds = toolLimits.searchTimeoutMs / 1000;
    throw new A2EError("timeout", `the search took longer than ${seconds} s; simplify the pattern or narrow the path`);
  }
}
