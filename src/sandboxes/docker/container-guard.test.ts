import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { guardShellOf, startGuardedHost } from "../../machinery/processes/guarded-host.suite.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "a2e-containers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A docker command that lists the containers in a file, and appends its arguments to another. */
function writeDocker(): string {
  const path = join(folder, "docker");
  const steps = [`cd '${folder}'`, 'echo "$*" >> calls', "case $1 in ps) cat containers ;; rm) : > containers ;; esac"];
  writeFileSync(path, `#!/bin/sh\n${steps.join("\n")}\n`, { mode: 0o755 });
  return path;
}

const containers = (text: string) => writeFileSync(join(folder, "containers"), text);
const calls = () => (existsSync(join(folder, "calls")) ? readFileSync(join(folder, "calls"), "utf8") : "");
const whenCalled = (line: string) => vi.waitFor(() => expect(calls()).toContain(line), { timeout: 30_000 });

/** A host that has created a container; returns its process id. */
async function startHost() {
  const guardModule = JSON.stringify(new URL("./container-guard.ts", import.meta.url).href);
  const host = await startGuardedHost(`import { createContainerGuard } from ${guardModule};
    const guard = createContainerGuard(${JSON.stringify({ docker: writeDocker(), env: {} })});
    guard.add("host=this");
    console.log(process.pid);
    setInterval(() => {}, 1000);`);
  return { kill: host.kill, pid: host.first as number };
}

const removal = "ps --all --quiet --filter label=host=this\nrm --force --volumes one two\n";

test.skipIf(process.platform === "win32")(
  "the containers of a killed host are removed, also a container that was still being created",
  { timeout: 60_000 },
  async () => {
    containers("one\ntwo\n");
    const host = await startHost();
    expect(calls()).toBe("");

    await host.kill();

    await whenCalled(removal);
    containers("late\n");
    await whenCalled("rm --force --volumes late\n");
  },
);

test.runIf(process.platform === "linux")(
  "the containers of a killed host are removed, also if the shell of its guard was killed before",
  { timeout: 60_000 },
  async () => {
    containers("one\ntwo\n");
    const host = await startHost();
    const currentShell = () => {
      const found = guardShellOf(host.pid, "a2e-containers");
      if (found === undefined) throw new Error("the guard has no shell");
      return found;
    };
    const shell = await vi.waitFor(() => currentShell(), { timeout: 30_000 });
    process.kill(shell, "SIGKILL");
    await vi.waitFor(
      () => {
        expect(currentShell()).not.toBe(shell);
      },
      { timeout: 30_000 },
    );

    await host.kill();

    await whenCalled(removal);
  },
);
