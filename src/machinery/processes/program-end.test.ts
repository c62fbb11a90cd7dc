import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { describeWith, linux, testWith } from "../../testing/needs.suite.ts";
import { exitBehindShell, reportingLines } from "./program-end.ts";
import { signalName, signalNumber } from "./signal-names.ts";

const shells = ["/bin/sh", "/bin/dash", "/bin/bash", "/bin/busybox"].filter((path) => existsSync(path));

/** Runs a script of its own under each shell, which reports on the third pipe. */
function endUnder(shell: string, script: string, env: Record<string, string> = {}) {
  const lines = [...reportingLines(`/usr/bin/env --default-signal "$@"`), 'exit "$code"'].join("\n");
  const args = [...(shell.endsWith("busybox") ? ["sh"] : []), "-c", lines, "keeper", "/bin/sh", "-c", script];
  const { status, signal, stdout, stderr, output } = spawnSync(shell, args, {
    input: "given\n",
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return { ...exitBehindShell({ code: status, signal }, output[3] ?? ""), stdout, stderr };
}

describeWith(linux).each(shells)("a program that %s waits for", (shell) => {
  test.each([0, 1, 128, 129, 130, 137, 139, 141, 143, 162, 192, 255])("exits with %i", (code) => {
    expect(endUnder(shell, `exit ${code}`)).toEqual({ code, signal: null, stdout: "", stderr: "" });
  });

  test.each(["SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGSEGV", "SIGPIPE", "SIGTERM", "SIGRTMIN", "SIGRTMIN+30"])(
    "is killed by %s",
    (name) => {
      const ended = endUnder(shell, `kill -${signalNumber(name)} $$`);
      expect(ended).toEqual({ code: null, signal: name, stdout: "", stderr: "" });
    },
  );

  // If no shell translations are installed here, this test proves nothing.
  test.each(["fr", "ru"])("is understood in every language: %s", (language) => {
    const env = { LANG: "C.UTF-8", LANGUAGE: language };
    expect(endUnder(shell, "exit 143", env)).toMatchObject({ code: 143, signal: null });
    expect(endUnder(shell, "kill -TERM $$", env)).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  test("has the input, output and errors of the shell, and no other file of it", () => {
    const { stdout, stderr } = endUnder(shell, "cat; echo problem >&2; for n in 3 4 5 6; do ls /proc/$$/fd/$n; done");
    expect(stdout).toBe("given\n");
    expect(stderr.match(/problem|No such file/g)).toEqual(["problem", ...Array(4).fill("No such file")]);
  });
});

test("without a report, a code above 128 is the signal of that number, if that signal exists", () => {
  expect(exitBehindShell({ code: 143, signal: null })).toEqual({ code: null, signal: "SIGTERM" });
  expect(exitBehindShell({ code: 255, signal: null })).toEqual({ code: 255, signal: null });
  expect(exitBehindShell({ code: 7, signal: null }, "[1]+ Terminated")).toEqual({ code: 7, signal: null });
  expect(exitBehindShell({ code: 143, signal: null }, "[1]+  Running  x\n[1]+  Exit 143  x\n").code).toBe(143);
  // The report of ksh-like shells.
  expect(exitBehindShell({ code: 152, signal: null }, "[1] + Done(137)  x").code).toBe(137);
  expect(exitBehindShell({ code: 152, signal: null }, "[1] + Killed  x").signal).toBe("SIGXCPU");
  expect(exitBehindShell({ code: null, signal: "SIGKILL" }, "[1] + Done(9)")).toEqual({
    code: null,
    signal: "SIGKILL",
  });
});

testWith(linux)("every signal has a name that leads back to it", () => {
  const named = Array.from({ length: 64 }, (_, index) => index + 1).filter((number) => number < 32 || number > 33);
  expect(named.map((number) => signalNumber(signalName(number) ?? ""))).toEqual(named);
  expect([signalNumber("SIGRTMAX"), signalNumber("SIGRTMAX-2")]).toEqual([64, 62]);
  for (const name of ["SIGRTMIN+31", "SIGRTMIN-1", "SIGRTMAX+1", "SIGRTMIN+", "SIGNOTHING", ""])
    expect(signalNumber(name), name).toBeUndefined();
  expect([0, 32, 33, 65].map(signalName)).toEqual([undefined, undefined, undefined, undefined]);
});
