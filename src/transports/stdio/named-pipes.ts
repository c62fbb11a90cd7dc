// Pipes to a child process by descriptor number. `spawn` on Linux creates sockets hidden in streams: they can be
// neither read into a single buffer nor written past the stream, and a socket costs the kernel more than a pipe.
// Together that is a fifth of a call (bench `stdio`). Node cannot create a pipe, but the program `mkfifo` can.
import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Descriptors, each to be closed by the code that uses it. A child inherits only those that it is given. */
export interface PipeEnds {
  readonly readEnd: number;
  readonly writeEnd: number;
}

const mkfifoTimeoutMs = 5_000;

/** Opens `count` pipes; undefined if the system has no named pipes or creating them fails. */
export async function openNamedPipes(count: number): Promise<PipeEnds[] | undefined> {
  if (process.platform !== "linux") return undefined;
  let folder: string | undefined;
  try {
    // Only our user can read the folder, so no other user can open the pipes in it.
    folder = await mkdtemp(join(tmpdir(), "a2e-pipes-"));
    const paths = Array.from({ length: count }, (_, index) => join(folder as string, String(index)));
    await promisify(execFile)("mkfifo", paths, { timeout: mkfifoTimeoutMs });
    return openAll(paths);
  } catch {
    return undefined;
  } finally {
    // An open pipe needs no name.
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

function openAll(paths: readonly string[]): PipeEnds[] {
  const opened: number[] = [];
  const open = (path: string, flags: number) => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  try {
    return paths.map((path) => {
      // Opening one end waits for the other end, unless it is opened for both.
      const both = openSync(path, constants.O_RDWR);
      try {
        return { readEnd: open(path, constants.O_RDONLY), writeEnd: open(path, constants.O_WRONLY) };
      } finally {
        closeSync(both);
      }
    });
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}
