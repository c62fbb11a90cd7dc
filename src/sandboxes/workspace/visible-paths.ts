// The paths of the host that a confined command can see. Program and working directory are checked before anything
// starts, so that a problem is an error of spawn and not a line on stderr.
import { access, constants, realpath, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, relative, resolve, sep } from "node:path";
import { noInterpreter, readInterpreter } from "../../machinery/processes/script-interpreter.ts";
import type { ConfinedCommand } from "../../plugin/ports/sandbox.ts";

const defaultPath = "/usr/local/bin:/usr/bin:/bin";

/** The innermost folder around a path decides. */
export interface VisiblePaths {
  shown: readonly string[];
  /** Empty in the sandbox, whatever the host has there. */
  covered: readonly string[];
}

/** For programs that are not confined. */
export const everything: VisiblePaths = { shown: ["/"], covered: [] };

export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Throws if the system could not pass this to a process: zero bytes, or invalid variable names. */
export function checkCommand({ argv, cwd, env }: ConfinedCommand): void {
  const names = Object.keys(env);
  const odd = names.find((name) => name === "" || name.includes("="));
  if (odd !== undefined) throw new Error(`"${odd}" is not a valid name of an environment variable`);
  if ([...argv, cwd, ...names, ...Object.values(env)].some((text) => text.includes("\0"))) {
    throw new Error("a command and its environment cannot contain the character 0");
  }
}

/** The absolute path of the program that the command names. Rejects with the errors of spawn. */
export async function findProgram({ argv, cwd, env }: ConfinedCommand, visible: VisiblePaths): Promise<string> {
  const [name] = argv;
  if (name === "") throw spawnError("ENOENT", "the name of the program is empty");
  const folders = name.includes("/") ? [""] : (env.PATH ?? defaultPath).split(delimiter);
  let isForbidden = false;
  let missing: string | undefined;
  for (const folder of folders) {
    const path = resolve(cwd, folder, name);
    let found = await lookAt(path, visible);
    if (found === "program") {
      const interpreter = readInterpreter(path);
      if (interpreter !== undefined) found = await lookAt(resolve(cwd, interpreter), visible);
      if (found === "program") return path;
      if (found === "missing") missing ??= interpreter;
    }
    isForbidden ||= found === "forbidden";
  }
  if (isForbidden) throw spawnError("EACCES", `${name} cannot be executed`);
  const problem = missing === undefined ? `there is no program ${name}` : noInterpreter(name, missing);
  throw spawnError("ENOENT", `${problem} in this sandbox`);
}

async function lookAt(path: string, visible: VisiblePaths): Promise<"program" | "forbidden" | "missing"> {
  try {
    if (!(await isVisible(path, visible))) return "missing";
    await access(path, constants.X_OK);
    return (await stat(path)).isFile() ? "program" : "forbidden";
  } catch (error) {
    return codeOf(error) === "EACCES" ? "forbidden" : "missing";
  }
}

/** Rejects if the working directory is not a folder, or is not visible. */
export async function checkWorkingDirectory(cwd: string, visible: VisiblePaths): Promise<void> {
  if (!isAbsolute(cwd)) throw spawnError("ENOENT", `the working directory ${cwd} is not an absolute path`);
  if (!(await isVisible(cwd, visible))) throw spawnError("ENOENT", `there is no folder ${cwd} in this sandbox`);
  if (!(await stat(cwd)).isDirectory()) throw spawnError("ENOTDIR", `${cwd} is not a folder`);
}

/** Both the path and its target must be visible: a link to an invisible target is not. */
async function isVisible(path: string, visible: VisiblePaths): Promise<boolean> {
  if (!isShown(path, visible)) return false;
  try {
    return isShown(await realpath(path), {
      shown: await realPaths(visible.shown),
      covered: await realPaths(visible.covered),
    });
  } catch {
    return false;
  }
}

function isShown(path: string, { shown, covered }: VisiblePaths): boolean {
  const depthIn = (folders: readonly string[]) =>
    Math.max(0, ...folders.filter((folder) => isWithin(folder, path)).map((folder) => folder.length));
  return depthIn(shown) > depthIn(covered);
}

function realPaths(paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map((path) => realpath(path).catch(() => path)));
}

/** The first of these folders that holds the program. */
export async function findHostProgram(name: string, path = process.env.PATH): Promise<string | undefined> {
  // The usual folders too: a host may be started with an empty PATH.
  for (const folder of `${path ?? ""}:/usr/bin:/bin:/usr/sbin:/sbin`.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const file = join(folder, name);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

function spawnError(code: "ENOENT" | "EACCES" | "ENOTDIR", message: string): Error {
  return Object.assign(new Error(message), { code });
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException | null)?.code;
}
