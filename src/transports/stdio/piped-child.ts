// A child process with text on its standard input and output, over the cheapest pipes that the system has.
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { openNamedPipes, type PipeEnds } from "./named-pipes.ts";
import { createPipeWriter, type WriteText } from "./pipe-writer.ts";
import { openTextPipe } from "./text-pipe.ts";

export interface PipedChild {
  readonly process: ChildProcess;
  readonly stdin: Writable;
  /** Writes to its standard input. */
  readonly write: WriteText;
  /** Emits text, from the next turn on. */
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the child has ended and all its output was read. */
  readonly closed: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

interface ChildOptions {
  command: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  cwd?: string | undefined;
}

/** Calls `listen` before any output of the child can arrive; rejects if the child could not be started. */
export async function startPipedChild(options: ChildOptions, listen: (child: PipedChild) => void): Promise<PipedChild> {
  const pipes = (await openNamedPipes(2)) as [PipeEnds, PipeEnds] | undefined;
  const started = spawnOver(options, pipes);
  return new Promise((resolve, reject) => {
    // The listener stays: a signal that cannot be sent is an error event too, and without a listener it would end this
    // process.
    started.on("error", reject);
    // If there were not enough descriptors, the child has no streams and its error event is still to come.
    if (started.stderr === null || started.stderr === undefined)
      return pipes === undefined ? undefined : closeOwn(pipes);
    const child = pipes === undefined ? overSockets(started) : overPipes(started, pipes);
    started.once("error", () => {
      if (started.pid === undefined) for (const end of [child.stdin, child.stdout]) end.destroy();
    });
    started.once("spawn", () => resolve(child));
    // A child that is gone is noticed by its end; writing to it must not throw elsewhere.
    child.stdin.on("error", () => {});
    listen(child);
  });
}

function spawnOver({ command, args, ...rest }: ChildOptions, pipes: [PipeEnds, PipeEnds] | undefined): ChildProcess {
  if (pipes === undefined) return spawn(command, args, { ...rest, stdio: ["pipe", "pipe", "pipe"] });
  const [input, output] = pipes;
  try {
    return spawn(command, args, { ...rest, stdio: [input.readEnd, output.writeEnd, "pipe"] });
  } catch (error) {
    closeOwn(pipes);
    throw error;
  } finally {
    // Kept here, they would hide the end of the child from us, and our end from the child.
    for (const fd of [input.readEnd, output.writeEnd]) closeSync(fd);
  }
}

/** Our ends of them. */
function closeOwn([input, output]: [PipeEnds, PipeEnds]): void {
  for (const fd of [input.writeEnd, output.readEnd]) closeSync(fd);
}

function overSockets(started: ChildProcess): PipedChild {
  const { stdin, stdout, stderr } = started as ChildProcessWithoutNullStreams;
  return {
    process: started,
    stdin,
    write: createPipeWriter(stdin, undefined),
    stdout: stdout.setEncoding("utf8"),
    stderr,
    closed: new Promise((resolve) => {
      started.once("close", (code, signal) => resolve({ code, signal }));
    }),
  };
}

function overPipes(started: ChildProcess, [input, output]: [PipeEnds, PipeEnds]): PipedChild {
  const stdin = new Socket({ fd: input.writeEnd, readable: false, writable: true });
  const stdout = openTextPipe(output.readEnd);
  // Text that is still to be written then has no reader.
  started.once("exit", () => stdin.destroy());
  return {
    process: started,
    stdin,
    write: createPipeWriter(stdin, input.writeEnd),
    stdout,
    stderr: started.stderr as Readable,
    closed: new Promise((resolve) => {
      const heard = new Promise((resolveHeard) => stdout.once("close", resolveHeard));
      started.once("close", (code, signal) => void heard.then(() => resolve({ code, signal })));
    }),
  };
}
