// How a program is started on Windows. The system runs only .exe and .com files; npm installs .cmd files, which only
// cmd.exe runs. Characters that are special to cmd.exe are rejected and not escaped: cmd.exe parses a line twice, and
// no escape survives both.
import { existsSync } from "node:fs";
import { win32 } from "node:path";

export interface WindowsCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** True if the arguments are a command line of cmd.exe, to be passed on verbatim. */
  readonly isVerbatim: boolean;
}

export function toWindowsCommand(
  [command, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  cwd: string,
  isFile: (path: string) => boolean = existsSync,
): WindowsCommand {
  const file = findFile(command, env, cwd, isFile) ?? command;
  if (!/\.(cmd|bat)$/i.test(file)) return { command: file, args, isVerbatim: false };
  const line = [file, ...args].map(quote).join(" ");
  return { command: env.COMSPEC ?? "cmd.exe", args: ["/d", "/v:off", "/s", "/c", `"${line}"`], isVerbatim: true };
}

function findFile(
  command: string,
  env: Readonly<Record<string, string>>,
  cwd: string,
  isFile: (path: string) => boolean,
): string | undefined {
  const folders = /[\\/]/.test(command) ? [cwd] : (env.PATH ?? "").split(";").filter((folder) => folder !== "");
  const endings = win32.extname(command) === "" ? (env.PATHEXT ?? ".COM;.EXE;.BAT;.CMD").split(";") : [""];
  const candidates = folders.flatMap((folder) => endings.map((ending) => win32.resolve(folder, command + ending)));
  return candidates.find(isFile);
}

function quote(text: string): string {
  if (/["%\r\n\0]/.test(text))
    throw new Error(
      `${JSON.stringify(text)} cannot be passed to a .cmd file, because it contains quotes, percent signs or line breaks: name the program itself, as in [node, server.js]`,
    );
  // A backslash before the closing quote would escape it.
  return `"${text.replace(/\\+$/, (ending) => ending + ending)}"`;
}
