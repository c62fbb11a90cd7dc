import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { guardShellOf, isRunning, startGuardedHost, whenEnded } from "./guarded-host.suite.ts";
import { killGroups, OrphanGuard } from "./orphan-guard.ts";

vi.setConfig({ testTimeout: 60_000 });

const guardModule = JSON.stringify(new URL("./orphan-guard.ts", import.meta.url).href);

/** A host with a guard and programs that sleep. It evaluates each line of its input, and ends when its input ends. */
const program = `
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { killGroups, OrphanGuard } from ${guardModule};
const guard = new OrphanGuard({ name: "test-guard", cleanUp: killGroups });
const sleep = () => {
  const child = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
  child.unref();
  return child.pid;
};
const [guarded, dropped] = [sleep(), sleep()];
guard.add(guarded);
guard.add(dropped);
guard.drop(dropped);
const answer = (value) => console.log(JSON.stringify(value ?? null));
answer({ guarded, dropped, host: process.pid });
for await (const line of createInterface({ input: process.stdin })) answer(await eval(line));
`;

async function startHost() {
  const host = await startGuardedHost(program);
  const { guarded, dropped, host: pid } = host.first as { guarded: number; dropped: number; host: number };
  /** Throws while the guard has no shell, or the shell has not started yet. */
  const shell = () => {
    const found = guardShellOf(pid, "test-guard");
    if (found === undefined) throw new Error("the guard has no shell");
    return found;
  };
  await vi.waitFor(shell, { timeout: 30_000 });
  return {
    ...host,
    guarded,
    dropped,
    pid,
    shell,
    async [Symbol.asyncDispose]() {
      await host.kill();
      for (const left of [guarded, dropped]) if (isRunning(left)) process.kill(left, "SIGKILL");
    },
  };
}

const onLinux = test.runIf(process.platform === "linux");

onLinux("the entries of a killed host are ended, and dropped entries are not", async () => {
  await using host = await startHost();

  await host.kill();

  await whenEnded(host.guarded);
  expect(isRunning(host.dropped)).toBe(true);
});

onLinux("a guard ends with a host that closes it, without cleaning up", async () => {
  await using host = await startHost();
  const shell = host.shell();

  await host.ask("guard.close()");

  expect(isRunning(shell)).toBe(false);
  await host.end();
  expect(isRunning(host.guarded)).toBe(true);
});

onLinux.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)(
  "a guard that gets %s still cleans up",
  async (name) => {
    await using host = await startHost();
    // The shell is to be past its first line, which ignores the signals.
    await vi.waitFor(() => expect(ignoresHangUp(host.shell())).toBe(true), { timeout: 30_000 });

    process.kill(host.shell(), name);
    await host.kill();

    await whenEnded(host.guarded);
  },
);

onLinux("a guard whose shell is killed starts another shell with the same entries", async () => {
  await using host = await startHost();
  const first = host.shell();

  process.kill(first, "SIGKILL");
  await vi.waitFor(() => expect(host.shell()).not.toBe(first), { timeout: 30_000 });
  await host.kill();

  await whenEnded(host.guarded);
  expect(isRunning(host.dropped)).toBe(true);
});

onLinux("a host with a guard ends by itself, without closing it", async () => {
  await using host = await startHost();

  await host.end();

  await whenEnded(host.guarded);
});

onLinux("a guard whose shell was stopped is closed all the same", async () => {
  await using host = await startHost();
  const shell = host.shell();
  process.kill(shell, "SIGSTOP");

  await host.ask("guard.close()");

  expect(isRunning(shell)).toBe(false);
});

onLinux("a guard whose shell keeps ending gives up after ten restarts, and the next entry tries again", async () => {
  await using host = await startHost();
  const killed = new Set<number>();
  for (let round = 0; round < 11; round++) {
    const shell = await vi.waitFor(
      () => {
        const found = host.shell();
        expect(killed).not.toContain(found);
        return found;
      },
      { timeout: 30_000 },
    );
    killed.add(shell);
    process.kill(shell, "SIGKILL");
    await whenEnded(shell);
  }
  await host.ask("new Promise((resolve) => setImmediate(resolve))");
  expect(host.shell).toThrow("the guard has no shell");

  await host.ask("void guard.add(1073741824)");

  await vi.waitFor(() => expect(killed).not.toContain(host.shell()), { timeout: 30_000 });
});

test("an entry that a shell would take for several words is refused", () => {
  const guard = new OrphanGuard({ name: "test-guard", cleanUp: killGroups });

  for (const entry of ["1 2", "*", "", "1\n2", "$(reboot)"]) expect(() => guard.add(entry)).toThrow(TypeError);
});

test("closing a guard twice is allowed, and later entries start no shell", async () => {
  const guard = new OrphanGuard({ name: "test-guard", cleanUp: killGroups });
  guard.start();

  await Promise.all([guard.close(), guard.close()]);
  guard.add(1073741824);
  guard.start();
});

/** Whether a process ignores SIGHUP, the first signal of the mask. */
function ignoresHangUp(pid: number): boolean {
  const [, mask = "0"] = /^SigIgn:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return (BigInt(`0x${mask}`) & 1n) === 1n;
}
