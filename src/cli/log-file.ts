// A log for a host whose terminal is not its own.
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { createLogger, type Logger } from "../host/logger.ts";

const maxBytes = 1024 * 1024;

/**
 * Appends to a file that several processes may share, and sets it aside at the start when it has grown large. Written at
 * once, so that the last words before a crash are there; what cannot be written is dropped.
 */
export function createLogFile(path: string): Logger {
  quietly(() => mkdirSync(dirname(path), { recursive: true, mode: 0o700 }));
  quietly(() => {
    if (statSync(path).size > maxBytes) renameSync(path, `${path}.1`);
  });
  return createLogger((line) => quietly(() => appendFileSync(path, line, { mode: 0o600 })));
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // A log that cannot be written is no reason to fail the agent.
  }
}
