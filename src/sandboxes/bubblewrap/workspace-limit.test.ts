// Programs that try to exceed the limit of a workspace, as root and as an ordinary user.
import { execFile } from "node:child_process";
import { chown, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import type { ProcessSandbox } from "../../plugin/ports/sandbox.ts";
import { type Need, reportNotRun, rootUser, testWith } from "../../testing/needs.suite.ts";
import { makeWorkspace, removeTree, runConfined } from "../suites/confined-run.suite.ts";
import { type Attack, type Attacked, attackLimits, attacks, runAttack } from "../suites/workspace-limit.suite.ts";
import { openBubblewrap } from "./probe.ts";

const mebibyte = 1024 * 1024;
const names = Object.keys(attacks) as Attack[];
const ordinaryUser = 12_345;
const script = fileURLToPath(new URL("workspace-limit-user.suite.ts", import.meta.url));
const probe = await openBubblewrap({ defaults });
const hasControlGroups = probe.explanation.includes("by control groups");
const bubblewrap: Need = { name: `bubblewrap (${probe.explanation})`, isMet: probe.sandbox !== undefined };
const openSources: Need = {
  name: "sources that every user may read",
  isMet: await isOpenToAll(script),
  isOptional: true,
};
await probe.sandbox?.close();

/** How far a program gets beyond the limit depends on how busy the machine is, so the bytes it took are not checked. */
function expectEnded(attacked: Attacked | undefined): void {
  expect(attacked).toMatchObject({ verdict: "sandbox_crash", isWorkspaceFull: true });
}

if (probe.sandbox === undefined) reportNotRun("the workspace limit of bubblewrap", bubblewrap);

for (const usesControlGroups of probe.sandbox === undefined ? [] : hasControlGroups ? [true, false] : [false]) {
  describe(`a program that writes to a workspace in bubblewrap ${usesControlGroups ? "with" : "without"} control groups`, () => {
    let sandbox: ProcessSandbox;
    beforeAll(async () => {
      const { sandbox: opened, explanation } = await openBubblewrap({ defaults, usesControlGroups });
      if (opened === undefined) throw new Error(explanation);
      sandbox = opened;
    });
    afterAll(() => sandbox.close());

    test.each(names)("is ended for growing beyond its limit by %s", async (name) => {
      await using workspace = await makeWorkspace();
      expectEnded(await runAttack(sandbox, name, workspace.path));
    });

    test("cannot exceed the limit by many short programs", async () => {
      await using workspace = await makeWorkspace();
      const results = [];
      for (let index = 0; index < 20; index++) {
        const command = ["sh", "-c", `head -c ${8 * mebibyte} /dev/zero > part${index}`] as const;
        const policy = { workspace: { path: workspace.path, access: "write" as const }, limits: attackLimits };
        results.push(await runConfined(sandbox, command, policy));
      }
      const kept = results.filter(({ code }) => code === 0).length * 8 * mebibyte;
      expect(results[0]).toMatchObject({ code: 0, isWorkspaceFull: false });
      expect(results.at(-1)).toMatchObject({ verdict: "sandbox_crash", isWorkspaceFull: true });
      // At least one count each time that short programs have written as much as the limit.
      expect(kept).toBeLessThanOrEqual(2 * attackLimits.workspaceBytes);
    });

    test("is not charged for files that other processes write or remove elsewhere on the disk", async () => {
      await using workspace = await makeWorkspace();
      await using elsewhere = await makeWorkspace();
      const beside = fillAndClear(elsewhere.path);
      const policy = { workspace: { path: workspace.path, access: "write" as const }, limits: attackLimits };
      const writing = "i=0; while [ $i -lt 40 ]; do head -c 1048576 /dev/zero > part$i; i=$((i + 1)); done; rm part*";
      const harmless = await runConfined(sandbox, ["sh", "-c", `${writing}; ${writing}; echo done`], policy);
      const attacked = await runAttack(sandbox, "many files", workspace.path);
      expect(await beside.stop()).toBeGreaterThan(0);
      expect(harmless).toMatchObject({ stdout: "done\n", code: 0, isWorkspaceFull: false });
      expectEnded(attacked);
    });

    test("may punch holes in files, and cannot reserve space", async () => {
      await using workspace = await makeWorkspace();
      const program = `
import ctypes, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
file = os.open("file", os.O_CREAT | os.O_RDWR)
os.write(file, bytes(1 << 20))
def fallocate(mode):
    result = libc.fallocate(file, mode, ctypes.c_long(0), ctypes.c_long(1 << 20))
    return os.strerror(ctypes.get_errno()) if result else "done"
print([fallocate(mode) for mode in (0, 1, 0x10, 3)])
for request in (0x40305828, 0x4030582a, 0x40305839, 0x401c5820):
    try: fcntl.ioctl(file, request, bytes(48))
    except OSError as error: print(error.strerror)
os.posix_fallocate(file, 0, 2 << 20); print(os.fstat(file).st_size)`;
      const policy = { workspace: { path: workspace.path, access: "write" as const } };
      const { stdout } = await runConfined(sandbox, ["python3", "-c", program], policy);
      const no = "Operation not supported";
      expect(stdout).toBe(`['${no}', '${no}', '${no}', 'done']\n${`${no}\n`.repeat(4)}${2 * mebibyte}\n`);
    });
  });
}

testWith(
  bubblewrap,
  rootUser,
  openSources,
)(
  "programs of an ordinary user are ended for growing beyond the limit of the workspace, and its locked folders stay locked",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "a2e-users-test-"));
    await chown(folder, ordinaryUser, ordinaryUser);
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", script], {
      uid: ordinaryUser,
      gid: ordinaryUser,
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder },
    });
    await removeTree(folder);
    const results = JSON.parse(stdout) as { attacked: Record<string, Attacked>; lockedMode: number };
    expect(Object.keys(results.attacked)).toEqual(names);
    for (const name of names) expectEnded(results.attacked[name]);
    expect(results.lockedMode).toBe(0);
  },
);

/** Allocates and frees 128 MiB of the same disk, repeatedly. */
function fillAndClear(path: string): { stop(): Promise<number> } {
  let isStopped = false;
  const rounds = (async () => {
    let count = 0;
    for (; !isStopped; count++) {
      const file = await open(join(path, "file"), "w");
      for (let index = 0; index < 16; index++) await file.write(Buffer.alloc(8 * mebibyte, 1));
      await file.close();
      await rm(join(path, "file"));
    }
    return count;
  })();
  return {
    stop() {
      isStopped = true;
      return rounds;
    },
  };
}

/** A checkout in a private folder cannot be used by another user. */
async function isOpenToAll(path: string): Promise<boolean> {
  const parent = dirname(path);
  if (parent === path) return true;
  return ((await stat(parent)).mode & 0o001) !== 0 && isOpenToAll(parent);
}
