import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { linux, type Need, testWith } from "../../testing/needs.suite.ts";
import { closingLines, findBash, withoutInheritedFiles } from "./inherited-files.ts";

const bash = findBash();
const bashShell: Need = { name: "bash", isMet: bash !== undefined };

/** Starts a program with inherited descriptors that it should not have, two of them above 9. */
function runWithFiles(file: string, args: readonly string[], env: Record<string, string> = {}) {
  const null1 = openSync("/dev/null", "r");
  const given = Array.from({ length: 12 }, () => null1);
  const stdio = ["ignore", "pipe", "pipe", ...given] as const;
  const { stdout, stderr, status } = spawnSync(file, args, { stdio: [...stdio], env, encoding: "utf8" });
  closeSync(null1);
  return { stdout, stderr, status };
}

const listing = ["/bin/ls", ["/proc/self/fd"]] as const;

testWith(linux, bashShell)("a program inherits none of the host's open files", () => {
  const plain = runWithFiles(...listing);
  const { file, args } = withoutInheritedFiles(...listing);

  expect(plain.stdout.split("\n")).toContain("14");
  // The third is the folder that is listed.
  expect(runWithFiles(file, args)).toEqual({ stdout: "0\n1\n2\n3\n", stderr: "", status: 0 });
});

testWith(linux, bashShell)("a plain shell restarts itself in bash, and runs `otherwise` if there is no bash", () => {
  const run = (found: string | undefined) => {
    const lines = closingLines({ bash: found, lastKept: 4, otherwise: "echo cannot" });
    const script = `${lines}\nexec "$@"`;
    return runWithFiles("/bin/sh", ["-c", script, script, ...listing.flat()]).stdout;
  };

  expect(run(bash)).toBe("0\n1\n2\n3\n4\n5\n");
  if (!/bash/.test(spawnSync("/bin/sh", ["-c", "echo $BASH_VERSION$BASH"], { encoding: "utf8" }).stdout))
    expect(run(undefined)).toMatch(/^cannot\n0\n1\n10\n/);
});

const namespaces: Need = {
  name: "the right to run `unshare --pid`",
  isMet: spawnSync("unshare", ["--pid", "--fork", "true"]).status === 0,
  isOptional: true,
};

testWith(
  linux,
  bashShell,
  namespaces,
)("open files are found also if process ids differ from those in /proc", () => {
  const { file, args } = withoutInheritedFiles(...listing);
  const second = ["--pid", "--fork", "sh", "-c", '"$@"; true', "sh", file, ...args];
  const { stdout, stderr } = runWithFiles("unshare", second, { PATH: "/usr/bin:/bin" });

  expect({ stdout, stderr }).toEqual({ stdout: "0\n1\n2\n3\n", stderr: "" });
});

testWith(linux, bashShell).each(["/bin/sh", "/bin/bash"])(
  "if %s cannot list open files, it does not take files of the working folder for them",
  (shell) => {
    const folder = mkdtempSync(join(tmpdir(), "a2e-inherited-"));
    try {
      writeFileSync(join(folder, "planted"), "#!/bin/sh\necho planted >&2\n", { mode: 0o755 });
      const run = (otherwise: string) => {
        const lines = closingLines({ bash, lastKept: 2, otherwise }).replace("/proc/self/fd", "/nowhere");
        const script = `${lines}\nexec "$@"`;
        const env = { PATH: `${folder}:/usr/bin:/bin` };
        const { stdout, stderr } = spawnSync(shell, ["-c", script, script, "/bin/echo", "program"], {
          cwd: folder,
          env,
          stdio: ["ignore", "pipe", "pipe"],
          encoding: "utf8",
        });
        return stdout + stderr;
      };

      expect(run(":")).toBe("program\n");
      expect(run("{ echo cannot; exit 1; }")).toBe("cannot\n");
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

testWith(linux, bashShell)("a program that cannot be started is reported in a short line", () => {
  const { file, args } = withoutInheritedFiles("/nowhere/program", []);
  const { stderr, status } = runWithFiles(file, args);

  expect(stderr).toMatch(/^a2e: line \d+: \/nowhere\/program: .*\n$/);
  expect(status).toBe(127);
});

testWith(linux, bashShell)(
  "environment variables of the program do not affect the intermediate shell, and reach the program unchanged",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "a2e-inherited-"));
    try {
      writeFileSync(join(folder, "startup"), "echo startup\n");
      const env = {
        BASH_ENV: join(folder, "startup"),
        ENV: join(folder, "startup"),
        "BASH_FUNC_exec%%": "() { echo function; }",
        SHELLOPTS: "xtrace",
        PS1: "first\n> ",
        PS2: "$(echo second)",
        file: "own",
        number: "own",
      };
      const { file, args } = withoutInheritedFiles("/usr/bin/env", ["-0"]);
      const { stdout, stderr } = runWithFiles(file, args, env);
      const found = Object.fromEntries(stdout.split("\0").map((line) => line.split(/=(.*)/s).slice(0, 2)));

      expect(found).toMatchObject({ BASH_ENV: env.BASH_ENV, ENV: env.ENV, PS1: env.PS1, PS2: env.PS2 });
      expect(found).toMatchObject({ file: "own", number: "own" });
      expect(stdout + stderr).not.toMatch(/startup\n|^function|\+ /m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
