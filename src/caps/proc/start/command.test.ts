import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CommandRule, Commands, matchesPattern } from "./command.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-proc-"));
  for (const name of ["first", "second"]) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "tool"), "#!/bin/sh\n");
    await chmod(join(folder, name, "tool"), 0o755);
  }
  await writeFile(join(folder, "first", "text"), "no program");
  await mkdir(join(folder, "first", "folder"));
  await symlink(join(folder, "first"), join(folder, "link"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

function find(rules: CommandRule[], cmd: string[]): { files?: string[]; problem?: string } {
  const found = new Commands(rules, `.:${folder}/first:${folder}/second`).find(cmd, join(folder, "second"));
  return found.problem === undefined ? { files: [...found.files] } : { problem: found.problem };
}

test("a name is looked up in absolute folders of the PATH, and all candidates are found", () => {
  expect(find([{ command: "tool" }], ["tool"])).toEqual({
    files: [join(folder, "first/tool"), join(folder, "second/tool")],
  });
  expect(find([{ command: "*" }], ["./tool"])).toEqual({ files: [join(folder, "second/tool")] });
});

test("a file that cannot be executed and a folder are not programs", () => {
  for (const command of ["text", "folder", "nothing", join(folder, "first/text")])
    expect(find([{ command: "*" }], [command]).problem).toContain("not found");
});

test("a link to a folder is the same folder, but a link to a file is another program", async () => {
  await symlink(join(folder, "first/tool"), join(folder, "second/alias"));
  const rules = [{ command: join(folder, "first/tool") }];

  expect(find(rules, [join(folder, "link/tool")]).problem).toBeUndefined();
  expect(find(rules, ["tool"]).problem).toBeUndefined();
  expect(find(rules, [join(folder, "second/alias")]).problem).toContain("not allowed");
  expect(find([{ command: "tool" }], [join(folder, "second/alias")]).problem).toContain("not allowed");
});

test("with patterns, each argument must match one, by any rule of the program", () => {
  const rules = [
    { command: "tool", args: ["status", "--*"] },
    { command: "tool", args: ["log"] },
  ];

  expect(find(rules, ["tool"]).problem).toBeUndefined();
  expect(find(rules, ["tool", "status", "--short"]).problem).toBeUndefined();
  expect(find(rules, ["tool", "log"]).problem).toBeUndefined();
  expect(find(rules, ["tool", "log", "--all"]).problem).toContain('"--all"');
  expect(find(rules, ["tool", "push"]).problem).toContain('"push"');
  expect(find([{ command: "tool", args: [] }], ["tool", "x"]).problem).toContain("not allowed");
});

test("a wildcard matches any characters, in short time for many stars", () => {
  const cases: [string, string, boolean][] = [
    ["*", "", true],
    ["", "", true],
    ["", "a", false],
    ["a*c", "abc", true],
    ["a*c", "abd", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["*.txt", "a.txt.bak", false],
    ["*a*b", "xaxxb", true],
    ["a.c", "abc", false],
  ];
  for (const [pattern, text, expected] of cases)
    expect([pattern, text, matchesPattern(pattern, text)]).toEqual([pattern, text, expected]);
  expect(matchesPattern(`${"a*".repeat(30)}b`, "a".repeat(20_000))).toBe(false);
});
