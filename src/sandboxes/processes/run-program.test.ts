import { expect, test } from "vitest";
import { runProgram } from "./run-program.ts";

test("a program that times out is killed with its children", async () => {
  const script = "sleep 300 & echo said; sleep 300";
  const result = await runProgram({
    file: "/bin/sh",
    args: ["-c", script],
    env: { PATH: "/usr/bin:/bin" },
    timeoutMs: 3_000,
  });

  expect(result).toEqual({ code: null, signal: "SIGKILL", stdout: "said\n", stderr: "" });
});

test("a program that does not exist has the code null and a reason", async () => {
  const result = await runProgram({ file: "/no/such/program", args: [], timeoutMs: 60_000 });

  expect(result).toMatchObject({ code: null, signal: null, stderr: expect.stringContaining("ENOENT") });
});
