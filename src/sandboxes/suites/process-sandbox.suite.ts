// The behaviour of every sandbox for programs, whether or not it confines them.
import { randomUUID } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProcessSandbox } from "../../plugin/ports/sandbox.ts";
import { makeWorkspace, processesWith, programPath, runConfined, vanished } from "./confined-run.suite.ts";

export interface ProcessSandboxSuite {
  /** Whether it distinguishes an exit code above 128 from a signal. */
  isExact: boolean;
}

export function testProcessSandbox(
  name: string,
  open: () => Promise<ProcessSandbox>,
  { isExact }: ProcessSandboxSuite = { isExact: false },
): void {
  describe(`${name} runs programs`, () => {
    let sandbox: ProcessSandbox;
    let folder: Awaited<ReturnType<typeof makeWorkspace>>;
    beforeAll(async () => {
      sandbox = await open();
      folder = await makeWorkspace();
    });
    afterAll(async () => {
      await sandbox.close();
      await folder[Symbol.asyncDispose]();
    });
    const workspace = () => ({ path: folder.path, access: "write" as const });
    const shell = (script: string, options: Parameters<typeof runConfined>[2] = {}) =>
      runConfined(sandbox, ["sh", "-c", script], { workspace: workspace(), ...options });

    test("arguments reach a program unchanged, without a shell", async () => {
      const odd = ["", " ", "a'b", '"$HOME"', "$(id)", "line\nbreak", "*", "-n", "ü€😀", "A=B"];
      const { stdout, code } = await runConfined(sandbox, ["printf", "%s|", ...odd], { workspace: workspace() });
      expect(stdout).toBe(odd.map((argument) => `${argument}|`).join(""));
      expect(code).toBe(0);
    });

    test("a program has only the environment of its command", async () => {
      const env = { EMPTY: "", ODD: "a'b\"$(id)\nnext", "with.dot": "x", A2E_VALUE_0: "own" };
      const { stdout } = await runConfined(sandbox, ["env", "-0"], { workspace: workspace(), env });
      const found = Object.fromEntries(stdout.split("\0").map((line) => line.split(/=(.*)/s).slice(0, 2)));
      expect(found).toMatchObject({ PATH: programPath, ...env });
      // A shell in between may have added its own variables.
      const added = Object.keys(found).filter((key) => key !== "" && key !== "PATH" && !(key in env));
      expect(added.filter((key) => !["PWD", "_", "OLDPWD", "SHLVL", "HOSTNAME", "HOME"].includes(key))).toEqual([]);
    });

    test("a variable whose name looks like an option is passed as a variable", async () => {
      const env = { "--split-string": "echo another program" };
      const { stdout, stderr } = await runConfined(sandbox, ["env"], { workspace: workspace(), env });
      expect(stdout).toContain("--split-string=echo another program\n");
      expect(stderr).toBe("");
    });

    test("a program runs in its working directory and can write its workspace", async () => {
      await mkdir(join(folder.path, "inner folder"), { recursive: true });
      const cwd = join(folder.path, "inner folder");
      const { stdout, stderr } = await shell("pwd; echo text > file; cat file", { cwd });
      expect({ stdout, stderr }).toEqual({ stdout: `${cwd}\ntext\n`, stderr: "" });
      expect(await readFile(join(cwd, "file"), "utf8")).toBe("text\n");
    });

    test("files that the host writes between two runs can be changed by the second", async () => {
      await shell("echo 1 > shared");
      await writeFile(join(folder.path, "shared"), "2\n");
      await writeFile(join(folder.path, "new"), "3\n");
      const { stdout, stderr } = await shell("echo more >> shared; echo more >> new; cat shared new");
      expect({ stdout, stderr }).toEqual({ stdout: "2\nmore\n3\nmore\n", stderr: "" });
    });

    test("input, output and errors are separate and binary-safe", async () => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
      const { stdout, stderr } = await shell("od -An -v -tx1 | tr -d ' \\n'; echo problem >&2", { stdin: bytes });
      expect(stdout).toBe(bytes.toString("hex"));
      expect(stderr).toBe("problem\n");
    });

    test.each([0, 1, 7, 126, 128])("exit code %i is returned", async (code) => {
      expect(await shell(`exit ${code}`)).toMatchObject({ code, signal: null, verdict: undefined });
    });

    test.each(isExact ? [129, 130, 137, 139, 143, 255] : [])(
      "exit code %i is not reported as a signal",
      async (code) => {
        expect(await shell(`exit ${code}`)).toMatchObject({ code, signal: null, verdict: undefined });
      },
    );

    test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"] as const)("its own %s comes back", async (signal) => {
      const { code, signal: ended } = await shell(`kill -${signal.slice(3)} $$`);
      expect({ code, ended }).toEqual({ code: null, ended: signal });
    });

    test.each(["SIGSEGV", "SIGABRT"] as const)("%s is a crash", async (signal) => {
      expect(await shell(`kill -${signal.slice(3)} $$`)).toMatchObject({ signal, verdict: "sandbox_crash" });
    });

    test("a signal to its process group reaches the program, which can handle it", async () => {
      const script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
      const { stdout, code } = await shell(script, { onOutput: (pid) => process.kill(-pid, "SIGTERM") });
      expect({ stdout, code }).toEqual({ stdout: "ready\ncaught\n", code: 3 });
    });

    test.each(["SIGTERM", "SIGINT", "SIGKILL", "SIGQUIT"] as const)("%s from outside ends it", async (signal) => {
      const result = await shell("echo ready; exec sleep 100", { onOutput: (pid) => process.kill(-pid, signal) });
      expect(result).toMatchObject({ code: null, signal });
    });

    test("a program can be stopped and continued", async () => {
      const { stdout, code } = await shell(
        "trap 'echo continued; exit' CONT; echo ready; while :; do sleep 0.02; done",
        {
          onOutput(pid) {
            process.kill(-pid, "SIGSTOP");
            process.kill(-pid, "SIGCONT");
          },
        },
      );
      expect({ stdout, code }).toEqual({ stdout: "ready\ncontinued\n", code: 0 });
    });

    test("no process is left after a signal to the group has ended the program", async () => {
      const marker = `100.${randomUUID().replace(/\D/g, "")}`;
      await shell(`sleep ${marker} & echo ready; wait`, { onOutput: (pid) => process.kill(-pid, "SIGKILL") });
      expect(await vanished(marker)).toBe(true);
      expect(processesWith(marker)).toEqual([]);
    });

    test("releasing twice is allowed, also for a program that was never started", async () => {
      const command = { argv: ["true"] as const, cwd: folder.path, env: {} };
      const confinement = await sandbox.confine(command, { network: false, workspace: workspace(), limits: {} });
      await confinement.release();
      await confinement.release();
    });

    if (name.startsWith("docker")) return;

    test.each([
      ["a missing program", ["no-such-program"], {}, "ENOENT"],
      ["a missing path", ["/usr/bin/no-such-program"], {}, "ENOENT"],
      ["a relative path that leads nowhere", ["./nothing"], {}, "ENOENT"],
      ["an empty name", [""], {}, "ENOENT"],
      ["a file that is not a program", ["./plain"], {}, "EACCES"],
      ["a folder", ["/usr/bin"], {}, "EACCES"],
      ["a script without its interpreter", ["./script"], {}, "ENOENT"],
      ["a script whose interpreter is not a program", ["./odd-script"], {}, "EACCES"],
      ["a missing working directory", ["true"], { cwd: "/usr/no-such-folder" }, "ENOENT"],
      ["a relative working directory", ["true"], { cwd: "relative" }, "ENOENT"],
    ] as const)("%s is refused before anything starts", async (_, argv, options, code) => {
      await writeFile(join(folder.path, "plain"), "text");
      await writeFile(join(folder.path, "script"), "#! /no/such/interpreter -x\n", { mode: 0o755 });
      await writeFile(join(folder.path, "odd-script"), "#!./plain", { mode: 0o755 });
      await expect(runConfined(sandbox, argv, { workspace: workspace(), ...options })).rejects.toMatchObject({ code });
    });

    test("a program of the workspace runs, whatever its path", async () => {
      const path = join(folder.path, "odd = name.sh");
      await writeFile(path, '#!/bin/sh\necho "$1"\n');
      await chmod(path, 0o755);
      const { stdout, stderr } = await runConfined(sandbox, ["./odd = name.sh", "argument"], {
        workspace: workspace(),
      });
      expect({ stdout, stderr }).toEqual({ stdout: "argument\n", stderr: "" });
    });

    test("if a script lacks its interpreter, the next program of its name is run", async () => {
      for (const [inner, interpreter] of [
        ["first", "/no/such/interpreter"],
        ["second", "/bin/sh"],
      ] as const) {
        await mkdir(join(folder.path, inner), { recursive: true });
        await writeFile(join(folder.path, inner, "twin"), `#!${interpreter}\necho ${inner}\n`, { mode: 0o755 });
      }
      const env = { PATH: `${join(folder.path, "first")}:${join(folder.path, "second")}` };
      expect(await runConfined(sandbox, ["twin"], { workspace: workspace(), env })).toMatchObject({
        stdout: "second\n",
      });
    });

    test("a file as working directory is rejected", async () => {
      await writeFile(join(folder.path, "plain"), "text");
      const cwd = join(folder.path, "plain");
      await expect(runConfined(sandbox, ["true"], { workspace: workspace(), cwd })).rejects.toMatchObject({
        code: "ENOTDIR",
      });
    });
  });
}
