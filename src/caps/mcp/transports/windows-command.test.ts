import { expect, test } from "vitest";
import { toWindowsCommand } from "./windows-command.ts";

const env = { PATH: "C:\\bin;C:\\Program Files\\nodejs", PATHEXT: ".COM;.EXE;.BAT;.CMD", COMSPEC: "C:\\cmd.exe" };
const files = new Set([
  "C:\\Program Files\\nodejs\\npx.CMD",
  "C:\\Program Files\\nodejs\\node.EXE",
  "C:\\work\\tools\\serve.CMD",
]);
const plan = (...cmd: [string, ...string[]]) => toWindowsCommand(cmd, env, "C:\\work", (path) => files.has(path));

test("a program is started directly", () => {
  const expected = { command: "C:\\Program Files\\nodejs\\node.EXE", args: ["server.js", "a b"], isVerbatim: false };

  expect(plan("node", "server.js", "a b")).toEqual(expected);
});

test("a .cmd file is found by PATH and PATHEXT, and run by cmd.exe with every word quoted", () => {
  const { command, args, isVerbatim } = plan("npx", "-y", "a&calc", "C:\\my data\\");

  expect({ command, isVerbatim }).toEqual({ command: "C:\\cmd.exe", isVerbatim: true });
  expect(args.slice(0, -1)).toEqual(["/d", "/v:off", "/s", "/c"]);
  expect(args.at(-1)).toBe(`""C:\\Program Files\\nodejs\\npx.CMD" "-y" "a&calc" "C:\\my data\\\\""`);
});

test("a program with a folder is looked up relative to the folder of the server", () => {
  expect(plan("tools/serve").args.at(-1)).toBe(`""C:\\work\\tools\\serve.CMD""`);
});

test.each(['"characters that are special to cmd.exe are rejected: %j"', "%PATH%", "a\nb"])(
  "what cmd.exe would not read as text is refused: %j",
  (argument) => {
    expect(() => plan("npx", argument)).toThrow("cannot be passed to a .cmd file");
    expect(plan("node", argument).args).toEqual([argument]);
  },
);

test("a program that is not found is left to the system to reject", () => {
  expect(plan("nothing")).toEqual({ command: "nothing", args: [], isVerbatim: false });
});
