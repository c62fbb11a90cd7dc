// The folder that file tools are confined to. Symbolic links are followed only if they stay inside.
//
// A path is first resolved as text and through links, then walked again folder by folder without following any link,
// each step relative to the folder that is already open (through /proc/self/fd, as openat does). If a folder is
// replaced by a link in between, the walk fails instead of leaving the workspace. Without /proc the second walk uses
// paths and is checked afterwards: a small race remains there. Hard links look like files: a program that can create
// them inside the workspace can reach their targets.
import { constants, existsSync } from "node:fs";
import { type FileHandle, lstat, mkdir, open, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { A2EError } from "../../protocol/errors.ts";

const { O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY } = constants;

/** An open folder of the workspace. */
export interface WorkspaceFolder {
  /** A path to the folder that was checked, even if it is renamed in the meantime. Valid while the folder is open. */
  readonly path: string;
  close(): Promise<void>;
}

export class Workspace {
  readonly #givenRoot: string;
  #root: string | undefined;
  readonly #hasHandlePaths: boolean;

  constructor(root: string, hasHandlePaths = existsSync("/proc/self/fd")) {
    this.#givenRoot = resolve(root);
    this.#hasHandlePaths = hasHandlePaths;
  }

  /** The real path of the workspace; makes the folder on first use. */
  async root(): Promise<string> {
    if (this.#root === undefined) {
      await mkdir(this.#givenRoot, { recursive: true });
      this.#root = await realpath(this.#givenRoot);
    }
    return this.#root;
  }

  /**
   * Resolves an agent's path to segments below the root, following links. Rejects a path outside; the file need not
   * exist.
   */
  async resolve(path: string): Promise<string[]> {
    if (path.includes("\0")) throw new A2EError("forbidden", "a path cannot contain a NUL character");
    const root = await this.root();
    const isBelowGiven = isAbsolute(path) && isInside(this.#givenRoot, resolve(path));
    const wanted = isBelowGiven ? resolve(root, relative(this.#givenRoot, resolve(path))) : resolve(root, path);
    if (!isInside(root, wanted)) throw outside(path);
    const real = await realPathOfDeepestParent(wanted, path);
    if (!isInside(root, real)) throw outside(path);
    const inside = relative(root, real);
    return inside === "" ? [] : inside.split(sep);
  }

  /** Opens a folder below the root by its segments, none of which may be a link; `create` creates missing folders. */
  async openFolder(segments: readonly string[], { create = false } = {}): Promise<WorkspaceFolder> {
    const root = await this.root();
    if (!this.#hasHandlePaths) return openFolderByPath(root, segments, create);
    let handle = await open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      for (const segment of segments) {
        const path = `${handlePath(handle)}/${segment}`;
        if (create) await mkdir(path).catch(ignoreExisting);
        const next = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        await handle.close();
        handle = next;
      }
    } catch (error) {
      await handle.close();
      throw toReadableError(error, segments.join("/"));
    }
    const opened = handle;
    return { path: handlePath(opened), close: () => opened.close() };
  }

  /**
   * Opens a regular file and rejects anything else under that name: a pipe would block, and a device is not a
   * document.
   */
  async openFile(segments: readonly string[], flags: number): Promise<FileHandle> {
    const name = segments.at(-1);
    if (name === undefined) throw new Error("the path names a folder, not a file");
    const folder = await this.openFolder(segments.slice(0, -1));
    try {
      const file = await open(join(folder.path, name), flags | O_NOFOLLOW | O_NONBLOCK, 0o666);
      const isFile = (await file.stat()).isFile();
      if (isFile) return file;
      await file.close();
      throw new Error(`"${segments.join("/")}" is not a regular file`);
    } catch (error) {
      throw toReadableError(error, segments.join("/"));
    } finally {
      await folder.close();
    }
  }
}

function handlePath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

async function openFolderByPath(root: string, segments: readonly string[], create: boolean): Promise<WorkspaceFolder> {
  const path = join(root, ...segments);
  try {
    if (create) await mkdir(path, { recursive: true });
    if ((await realpath(path)) !== path) throw outside(segments.join("/"));
  } catch (error) {
    throw toReadableError(error, segments.join("/"));
  }
  return { path, close: async () => {} };
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

async function realPathOfDeepestParent(wanted: string, shown: string): Promise<string> {
  const missing: string[] = [];
  for (let path = wanted; ; path = dirname(path)) {
    try {
      return join(await realpath(path), ...missing);
    } catch (error) {
      const code = codeOf(error);
      if (code !== "ENOENT") throw toReadableError(error, shown);
      // Creating a file through a dangling link would create it outside of the workspace.
      if (await isLink(path)) throw new A2EError("forbidden", `"${shown}" leads through a symbolic link to nowhere`);
      missing.unshift(basename(path));
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false;
  }
}

function outside(path: string): A2EError {
  return new A2EError("forbidden", `"${path}" is outside the workspace; use a path relative to the workspace folder`);
}

function ignoreExisting(error: unknown): void {
  if (codeOf(error) !== "EEXIST") throw error;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Errors of the file system name absolute paths and calls; an agent needs its own path and a reason. */
export function toReadableError(error: unknown, path: string): Error {
  if (error instanceof A2EError) return error;
  const shown = `"${path === "" ? "." : path}"`;
  switch (codeOf(error)) {
    case "ENOENT":
      return new Error(`${shown} does not exist in the workspace`, { cause: error });
    case "EISDIR":
      return new Error(`${shown} is a folder`, { cause: error });
    case "ENOTDIR":
      return new Error(`${shown} is not a folder, or a part of it is a file`, { cause: error });
    case "ELOOP":
      return new A2EError("forbidden", `${shown} leads through a symbolic link that may not be followed`, {
        cause: error,
      });
    case "EACCES":
    case "EPERM":
      return new Error(`the host may not access ${shown}`, { cause: error });
    case "ENAMETOOLONG":
      return new Error("the path is too long", { cause: error });
    case "ENXIO":
      return new Error(`${shown} is not a regular file`, { cause: error });
    case "":
      return error instanceof Error ? error : new Error(String(error));
    default:
      return new Error(`${shown}: ${codeOf(error)}`, { cause: error });
  }
}
