// A log for a host whose terminal is not its own.
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { createLogger, type Logger } from "../../plugin/logger.ts";

const defaultMaxBytes = 1024 * 1024;

/**
 * Appends to a file that several processes may share, and renames it when it has grown large. Written synchronously,
 * so that the last entries before a crash are there; entries that cannot be written are dropped.
 */
export function createLogFile(path: string, maxBytes: number = defaultMaxBytes): Logger {
  let unchecked = maxBytes;
  return createLogger((line) =>
    quietly(() => {
      unchecked += line.length;
      // Others write to it too, so its size is looked up; not for each line.
      if (unchecked >= maxBytes / 16) {
        unchecked = 0;
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        if (sizeOf(path) > maxBytes) renameSync(path, `${path}.1`);
      }
      appendFileSync(path, line, { mode: 0o600 });
    }),
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // A log that cannot be written must not fail the agent.
  }
}
