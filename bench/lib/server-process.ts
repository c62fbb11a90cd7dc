// A server in a process of its own, beside the process of its case.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** Sends a command and resolves with the server's reply to it. */
  ask(command: object): Promise<unknown>;
  stop(): Promise<void>;
  /** Ends it as a crash would. */
  crash(): Promise<void>;
}

/** `name` is a file of ../servers, run with the flags of this process; it sends `{ port }` once it listens and ends when its channel does. */
export async function startServerProcess(name: string, args: readonly string[] = []): Promise<ServerProcess> {
  const child = fork(new URL(`../servers/${name}.js`, import.meta.url), args);
  const { port } = (await replyOf(child)) as { port: number };
  return {
    pid: child.pid as number,
    port,
    async ask(command) {
      child.send(command);
      return replyOf(child);
    },
    async stop() {
      const hasExited = once(child, "exit");
      child.disconnect();
      await hasExited;
    },
    async crash() {
      const hasExited = once(child, "exit");
      child.kill("SIGKILL");
      await hasExited;
    },
  };
}

async function replyOf(child: ChildProcess): Promise<unknown> {
  const stop = new AbortController();
  const reply = once(child, "message", stop).then(([message]) => message);
  const exit = once(child, "exit", stop).then(([code]) => {
    throw new Error(`the server ended with code ${code}`);
  });
  try {
    return await Promise.race([reply, exit]);
  } finally {
    stop.abort();
    await Promise.allSettled([reply, exit]);
  }
}
