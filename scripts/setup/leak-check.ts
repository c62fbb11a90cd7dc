// Fails a test file that leaves a child process, a server, a file watcher or a worker running.
import type { Worker } from "node:worker_threads";
import { afterAll, expect } from "vitest";

/** Kinds of handles, as Node names them, that only an open thing has. */
const watchedHandles = ["ProcessWrap", "TCPServerWrap", "PipeServerWrap", "FSEventWrap"];
/** A handle that was closed may need a few turns of a busy machine to be gone. */
const patienceMs = 30_000;

const before = countHandles();
const workers = new Set<Worker>();

process.on("worker", (worker) => {
  workers.add(worker);
  worker.once("exit", () => workers.delete(worker));
});

// Registered first, so it runs last: after every hook of the file itself.
afterAll(async () => {
  const deadline = Date.now() + patienceMs;
  while (leftOpen().length > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(leftOpen(), "these were opened by the tests of this file and never closed").toEqual([]);
});

function leftOpen(): string[] {
  const now = countHandles();
  const handles = watchedHandles.filter((kind) => (now.get(kind) ?? 0) > (before.get(kind) ?? 0));
  return workers.size === 0 ? handles : [...handles, "Worker"];
}

function countHandles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
