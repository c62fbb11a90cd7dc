// Programs that use up resources, and do not affect the host.
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ProcessSandbox, SandboxLimits } from "../../plugin/ports/sandbox.ts";
import { type RunOptions, runConfined, vanished } from "./confined-run.suite.ts";

const mebibyte = 1024 * 1024;

/** Resources that are limited for a whole tree of processes, and not only per process. */
export interface TreeLimits {
  memory: boolean;
  processorTime: boolean;
}

/** The verdict for a program that ignores SIGXCPU. */
export type IgnoredWarning = "timeout" | "sandbox_crash";

export interface LimitsOptions {
  sandbox(): ProcessSandbox;
  policy(limits?: Partial<SandboxLimits>): RunOptions & { workspace: { path: string } };
  node: string;
  treeLimits: TreeLimits;
  ignoredWarning: IgnoredWarning;
}

export function testLimits({ sandbox, policy, node, treeLimits, ignoredWarning }: LimitsOptions): void {
  const shell = (script: string, limits: Partial<SandboxLimits>) =>
    runConfined(sandbox(), ["sh", "-c", script], policy(limits));

  test("the number of processes of a program is limited", async () => {
    const script = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i + 1)); echo $i; done; echo all";
    const { stdout, stderr } = await shell(script, { processes: 20 });
    expect(stderr).toMatch(/fork/i);
    expect(stdout).not.toContain("all");
    expect(stdout.trim().split("\n").length).toBeLessThanOrEqual(20);
    expect(stdout.trim().split("\n").length).toBeGreaterThanOrEqual(10);
  });

  test("a second program has its own share of processes while the first has used up its own", async () => {
    const hog = "i=0; while [ $i -lt 12 ]; do sleep 30 & i=$((i + 1)); done; echo ready; wait";
    let second: ReturnType<typeof shell> | undefined;
    await runConfined(sandbox(), ["sh", "-c", hog], {
      ...policy({ processes: 20 }),
      onOutput(pid) {
        second = shell(`${hog.replace("; wait", "")}; kill %1`, { processes: 20 });
        void second.finally(() => process.kill(-pid, "SIGKILL"));
      },
    });
    expect(await second).toMatchObject({ stdout: "ready\n" });
  });

  test("a fork bomb is stopped, and the host can still start programs", async () => {
    const marker = `bomb${randomUUID().replaceAll("-", "")}`;
    const bomb = `${marker}() { ${marker} | ${marker} & }; ${marker}; sleep 0.5`;
    await shell(bomb, { processes: 30, cpuSeconds: 3 });
    expect(await vanished(bomb)).toBe(true);
    expect(await shell("echo alive", {})).toMatchObject({ stdout: "alive\n", code: 0 });
  });

  test("a program that fills memory is out_of_memory", async () => {
    const script = `const all = []; for (;;) all.push(Buffer.alloc(${8 * mebibyte}, 1));`;
    const result = await runConfined(sandbox(), [node, "-e", script], policy({ memoryBytes: 256 * mebibyte }));
    expect(result.code).not.toBe(0);
    expect(result.verdict).toBe("out_of_memory");
  });

  if (treeLimits.memory)
    test("programs that fill memory together are reported as out_of_memory", async () => {
      const each = `Buffer.alloc(${40 * mebibyte}, 1); setTimeout(() => {}, 3000)`;
      const script = `for i in 1 2 3 4 5 6; do ${node} -e '${each}' & done; for job in 1 2 3 4 5 6; do wait %$job || exit 9; done`;
      expect(await shell(script, { memoryBytes: 160 * mebibyte })).toMatchObject({ verdict: "out_of_memory" });
    });

  test.each(["/tmp", "/dev/shm"])("%s holds only so much", async (folder) => {
    const script = `dd if=/dev/zero of=${folder}/a bs=1M count=6 2>/dev/null; dd if=/dev/zero of=${folder}/b bs=1M count=6`;
    const { stderr } = await shell(script, { scratchBytes: 8 * mebibyte });
    expect(stderr).toContain("No space left");
  });

  test("the size of a file is limited", async () => {
    const file = join(policy().workspace.path, "large");
    const result = await shell(`exec dd if=/dev/zero of=${file} bs=1M count=6`, { fileBytes: 4 * mebibyte });
    expect(result).toMatchObject({ signal: "SIGXFSZ", verdict: "sandbox_crash" });
    expect((await stat(file)).size).toBe(4 * mebibyte);
  });

  test.each([
    ["many files", "i=0; while [ $i -lt 300 ]; do head -c 1048576 /dev/zero > part$i; i=$((i + 1)); sleep 0.01; done"],
    ["many empty files", "mkdir many; i=0; while [ $i -lt 300000 ]; do : > many/$i; i=$((i + 1)); done"],
    [
      "files without a name",
      "exec 3> large; rm large; i=0; while [ $i -lt 250 ]; do head -c 1048576 /dev/zero >&3; i=$((i + 1)); sleep 0.01; done",
    ],
  ])("the growth of a workspace is limited: %s", async (_, script) => {
    const workspaceBytes = 24 * mebibyte;
    const { path } = policy().workspace;
    const result = await shell(`mkdir -p filling; cd filling; ${script}`, { workspaceBytes });
    expect(result).toMatchObject({ verdict: "sandbox_crash", isWorkspaceFull: true });

    // A full workspace can be cleaned up, and is not full afterwards.
    const refused = await shell("head -c 100 /dev/zero > more", { workspaceBytes });
    // Files without a name are gone with the program.
    const isFull = !script.includes("rm large");
    expect(refused).toMatchObject({ verdict: isFull ? "sandbox_crash" : undefined, isWorkspaceFull: isFull });
    await shell("rm -rf filling", { workspaceBytes });
    await expect(stat(join(path, "filling"))).rejects.toMatchObject({ code: "ENOENT" });
    const again = await shell(
      "mkdir filling; head -c 100 /dev/zero > filling/more && cat filling/more | wc -c; rm -r filling",
      { workspaceBytes },
    );
    expect(again).toMatchObject({ stdout: "100\n", code: 0, isWorkspaceFull: false });
  });

  test("the number of open files of a program is limited", async () => {
    const script = `const fs = require("node:fs"); let n = 0; try { for (;;) { fs.openSync("/dev/null"); n++; } } catch (e) { console.log(e.code, n < 64); }`;
    const { stdout } = await runConfined(sandbox(), [node, "-e", script], policy({ openFiles: 64 }));
    expect(stdout).toBe("EMFILE true\n");
  });

  test("a program that uses up its processor time is a timeout", async () => {
    expect(await shell("while :; do :; done", { cpuSeconds: 1 })).toMatchObject({ verdict: "timeout", code: null });
  });

  test(`one that ignores the warning is a ${ignoredWarning} all the same`, async () => {
    const script = "trap '' XCPU; while :; do :; done";
    expect(await shell(script, { cpuSeconds: 1 })).toMatchObject({ verdict: ignoredWarning, code: null });
  });

  test("a program that is killed before its processor time is over is not a timeout", async () => {
    expect(await shell("kill -9 $$", { cpuSeconds: 1 })).toMatchObject({ signal: "SIGKILL", verdict: "sandbox_crash" });
  });

  if (treeLimits.processorTime)
    test("programs that together use up the processor time are reported as a timeout", async () => {
      const script = "for i in 1 2 3 4 5 6; do (while :; do :; done) & done; wait";
      expect(await shell(script, { cpuSeconds: 1 })).toMatchObject({ verdict: "timeout" });
    });

  test("limits cannot be raised from inside", async () => {
    const { stdout } = await shell(
      "ulimit -H -n 4096 2>/dev/null && echo raised; ulimit -H -f unlimited 2>/dev/null && echo raised; ulimit -n",
      { openFiles: 100 },
    );
    expect(stdout).toBe("100\n");
  });

  test("a program that uses few resources is not affected", async () => {
    const script = `const { spawnSync } = require("node:child_process"); console.log(spawnSync("echo", ["fine"]).stdout.toString().trim());`;
    expect(await runConfined(sandbox(), [node, "-e", script], policy())).toMatchObject({
      stdout: "fine\n",
      code: 0,
      verdict: undefined,
    });
  });
}
