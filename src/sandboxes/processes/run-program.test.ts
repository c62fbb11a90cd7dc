import { expect, test } from "vitest";
import { runProgram } from "./run-program.ts";

test("a program that takes too long is ended with all that it started", async () => {
  const script = "sleep 300 & echo said; sleep 300";
  const result = await runProgram({
    file: "/bin/sh",
    args: ["-c", script],
    env: { PATH: "/usr/bin:/bin" },
    timeoutMs: 3_000,
  });

  expect(result).toEqual({ code: null, signal: "SIGKILL", stdout: "said\n", stderr: "" });
});

test("a program that is not there has ended, and says so", async () => {
  const result = await runProgram({ file: "/no/such/program", args: [], timeoutMs: 60_000 });

  expect(result).toMatchObject({ code: null, signal: null, stderr: expect.stringContaining("ENOENT") });
});
