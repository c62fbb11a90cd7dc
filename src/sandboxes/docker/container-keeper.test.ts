import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { notWindows, testWith } from "../../testing/needs.suite.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "a2e-containers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A docker that knows the containers in a file, and writes down what it is told. */
function writeDocker(): string {
  const path = join(folder, "docker");
  const steps = [`cd '${folder}'`, 'echo "$*" >> told', "case $1 in ps) cat containers ;; rm) : > containers ;; esac"];
  writeFileSync(path, `#!/bin/sh\n${steps.join("\n")}\n`, { mode: 0o755 });
  return path;
}

const containers = (text: string) => writeFileSync(join(folder, "containers"), text);
const told = () => (existsSync(join(folder, "told")) ? readFileSync(join(folder, "told"), "utf8") : "");

/** A host that has started its keeper, and then does this. */
async function startHost(then: string) {
  const options = JSON.stringify({ docker: writeDocker(), env: {}, label: "host=this" });
  const script = `import { ContainerKeeper } from ${JSON.stringify(join(import.meta.dirname, "container-keeper.ts"))};
    const keeper = new ContainerKeeper(${options});
    keeper.start();
    ${then}`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", script];
  const host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(host.stdout, "data");
  return host;
}

testWith(notWindows)("what a killed host had is removed, also what was still being made", async () => {
  containers("one\ntwo\n");
  const host = await startHost('console.log("ready"); setInterval(() => {}, 1000);');
  expect(told()).toBe("");
  host.kill("SIGKILL");
  const isTold = (line: string) => vi.waitFor(() => expect(told()).toContain(line));

  await isTold("ps --all --quiet --filter label=host=this\nrm --force --volumes one two\n");
  containers("late\n");
  await isTold("rm --force --volumes late\n");
});
