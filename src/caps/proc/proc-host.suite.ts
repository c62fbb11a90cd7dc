// A host with only the proc plugin, for the tests of this folder.
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "../../protocol/envelope.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { startHost, type TestHostOptions } from "../../testing/start-host.ts";
import type { ProcOptions } from "./options.ts";
import { procPlugin } from "./plugin.ts";
import { proc } from "./protocol.ts";

type HostOptions = Omit<TestHostOptions<[ReturnType<typeof procPlugin>]>, "plugins">;

/** Without a sandbox and with every command allowed, unless the test says otherwise. */
export async function startProc(options: ProcOptions = {}, hostOptions: HostOptions = {}) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "a2e-proc-")));
  const host = await startHost({
    plugins: [procPlugin({ sandbox: "none", allowed_commands: ["*"], grace_seconds: 0.3, ...options })],
    sandboxes: createSandboxes(),
    workspaceDir: folder,
    dataDir: join(folder, ".a2e"),
    client: { agentId: "tester" },
    ...hostOptions,
  });
  const events: Message[] = [];
  const waiters = new Set<() => void>();
  host.client.onPush(proc.pushes.read, (event) => {
    events.push(event);
    for (const wake of [...waiters]) wake();
  });
  /** The first matching event, among past and future events. */
  const event = async (fits: (event: Message) => boolean): Promise<Message> => {
    for (;;) {
      const found = events.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiters.delete(wake);
          resolve();
        };
        waiters.add(wake);
      });
    }
  };
  /** Rejects if it cannot be started. */
  const run = async (cmd: string[], more: object = {}) => {
    const { ok, proc_id, error, pid } = await host.client.proc.spawn({ cmd, ...more });
    if (!ok) throw new Error(error);
    return { proc_id, pid };
  };
  const close = async () => {
    try {
      await host.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  return {
    ...host,
    api: host.client.proc,
    folder,
    events,
    event,
    run,
    /** Runs a shell script. */
    sh: (script: string, more: object = {}) => run(["sh", "-c", script], more),
    /** How it ended. */
    end: (proc_id: string) => event((one) => one.proc_id === proc_id && dataOf(one).code !== undefined),
    textOf: (proc_id: string, stream = "stdout") =>
      events
        .filter((one) => one.proc_id === proc_id && one.stream_type === stream)
        .map((one) => String(dataOf(one).text ?? ""))
        .join(""),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function dataOf(event: Message): Record<string, unknown> {
  return event.data as Record<string, unknown>;
}

/** Whether a process with this id exists; zombies do not count. */
export async function isAlive(pid: number): Promise<boolean> {
  const { readFile } = await import("node:fs/promises");
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

/** Resolves when all of them are gone. */
export async function whenGone(...pids: number[]): Promise<void> {
  for (const pid of pids) while (await isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}
