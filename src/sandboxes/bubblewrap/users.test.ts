// Bubblewrap as other users than that of the tests: as an ordinary user, in a folder of an ordinary user, and without a
// parent.
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chown, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { type Need, reportNotRun, rootUser, testWith } from "../../testing/needs.suite.ts";
import { type RunResult, runConfined, vanished } from "../suites/confined-run.suite.ts";
import { openBubblewrap } from "./probe.ts";

const ordinaryUser = 12_345;
const { sandbox, explanation } = await openBubblewrap({ defaults });
const pty = await import("@lydell/node-pty").catch(() => undefined);
const script = fileURLToPath(new URL("ordinary-user.suite.ts", import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-users-test-"));
});
afterAll(async () => {
  await sandbox?.close();
  await rm(folder, { recursive: true, force: true });
});

const terminals: Need = { name: "the package @lydell/node-pty", isMet: pty !== undefined };
if (sandbox === undefined)
  reportNotRun("bubblewrap and its users", { name: `bubblewrap (${explanation})`, isMet: false });
else {
  const openSources: Need = {
    name: "sources that every user may read",
    isMet: await isOpenToAll(script),
    isOptional: true,
  };
  testWith(rootUser, openSources)("bubblewrap confines programs of an ordinary user as well", async () => {
    const secret = join(folder, "secret");
    await writeFile(secret, "hidden", { mode: 0o644 });
    await chown(folder, ordinaryUser, ordinaryUser);
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", script, secret], {
      uid: ordinaryUser,
      gid: ordinaryUser,
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder },
    });
    const results = JSON.parse(stdout) as Record<string, RunResult> & { user: number; explanation: string };

    expect(results.user, results.explanation).toBe(ordinaryUser);
    expect(results.id).toMatchObject({ code: 0, stdout: `${ordinaryUser}\ntext\n` });
    expect(results.status?.stdout).toMatch(/^CapEff:\s+0+$/m);
    expect(results.status?.stdout).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(results.secret?.stdout).toMatch(/^[1-9]\n$/);
    expect(results.writing?.code).not.toBe(0);
    expect(results.processes?.stderr).toMatch(/fork/i);
    expect(results.processes?.stdout).not.toContain("all");
    // It has the same user, so a program can control it.
    for (const limit of ["cpu time +5", "file size +4096", "data size +134217728", "processes +22", "open files +1024"])
      expect(results.first?.stdout).toMatch(new RegExp(`^Max ${limit} `, "m"));
    expect(results.cpu?.verdict).toBe("timeout");
    expect(results.exit).toMatchObject({ code: 200, signal: null });
    expect(results.namespaces?.code).not.toBe(0);
    expect(results.signal?.code).toBe(3);
  });

  testWith(rootUser)(
    "in a folder of an ordinary user, programs of root run as that user and change no owner",
    async () => {
      const path = await mkdtemp(join(folder, "owned-"));
      await writeFile(join(path, "of-root"), "x");
      await chown(path, ordinaryUser, ordinaryUser);
      const workspace = { path, access: "write" as const };
      const { stdout } = await runConfined(sandbox, ["sh", "-c", "id -u; touch made"], { workspace });
      expect(stdout).toBe(`${ordinaryUser}\n`);
      expect((await stat(join(path, "made"))).uid).toBe(ordinaryUser);
      expect((await stat(join(path, "of-root"))).uid).toBe(0);
    },
  );

  test.each([false, true])(
    "a program does not outlive its parent, even if that is killed (reported: %s)",
    async (isReported) => {
      const marker = `100.${randomUUID().replace(/\D/g, "")}`;
      const command = { argv: ["sh", "-c", `echo on; sleep ${marker}`] as const, cwd: "/tmp", env: {}, isReported };
      const confinement = await sandbox.confine(command, { network: false, limits: {} });
      const parent = spawn("sh", ["-c", '"$@" & wait', "sh", confinement.file, ...confinement.args], {
        cwd: "/",
        env: confinement.env,
      });
      await new Promise((resolve) => parent.stdout.once("data", resolve));
      parent.kill("SIGKILL");
      expect(await vanished(marker)).toBe(true);
      await confinement.release();
    },
  );

  testWith(terminals)("a program on a terminal controls it and is interrupted by it", async () => {
    const argv = ["sh", "-c", "tty; trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done"] as const;
    const command = { argv, cwd: "/tmp", env: { TERM: "xterm" }, isTerminal: true };
    const confinement = await sandbox.confine(command, { network: false, limits: {} });
    const terminal = (pty as NonNullable<typeof pty>).spawn(confinement.file, [...confinement.args], {
      cwd: "/",
      env: { ...confinement.env },
    });
    let output = "";
    terminal.onData((text) => {
      if (text.includes("ready")) terminal.write("\x03");
      output += text;
    });
    const exitCode = await new Promise((resolve) => terminal.onExit((exit) => resolve(exit.exitCode)));
    expect(output).toContain("caught");
    expect(exitCode).toBe(5);
    await confinement.release();
  });

  testWith(terminals)("a program does not inherit a terminal that the host opens meanwhile", async () => {
    // The library opens them without close-on-exec, so every program inherits them.
    const terminal = (pty as NonNullable<typeof pty>).spawn("/bin/cat", [], { cwd: "/" });
    const listed = await runConfined(sandbox, ["sh", "-c", "ls -l /proc/self/fd"], {});
    const control = await promisify(execFile)("/bin/ls", ["-l", "/proc/self/fd"]);
    terminal.kill("SIGKILL");
    expect(control.stdout).toContain("ptmx");
    expect(listed.stdout).not.toContain("ptmx");
  });
}

/** A checkout in a private folder cannot be used by another user. */
async function isOpenToAll(path: string): Promise<boolean> {
  const parent = dirname(path);
  if (parent === path) return true;
  return ((await stat(parent)).mode & 0o001) !== 0 && isOpenToAll(parent);
}
