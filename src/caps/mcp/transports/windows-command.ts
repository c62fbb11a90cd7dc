// How a program is started on Windows. The system itself runs .exe and .com files only; what npm installs are .cmd files,
// which only cmd.exe runs. What cmd.exe would read as anything but text is refused, not escaped: it reads a line twice, and
// no spelling is the same both times.
import { existsSync } from "node:fs";
import { win32 } from "node:path";

export interface WindowsCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** True where the arguments are a line of cmd.exe, to be handed over as they are. */
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
      `${JSON.stringify(text)} cannot be handed to a .cmd file, for it has quotes, percent signs or line breaks: name the program behind it, as in [node, server.js]`,
    );
  // A backslash before the closing quote would make it part of the text.
  return `"${text.replace(/\\+$/, (ending) => ending + ending)}"`;
}
