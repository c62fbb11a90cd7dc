// Memory that is really in use.

/** Needs a process that exposes its collector, as those of cases do. */
export async function heapInUse(): Promise<number> {
  // What one collection frees may let the next free more.
  for (let times = 0; times < 3; times++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return process.memoryUsage().heapUsed;
}
