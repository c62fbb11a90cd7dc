// The folders that toolkits may use: the workspace, and those that the operator allows.

import type { FileHandle } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { Workspace, type WorkspaceFolder } from "../../../machinery/confinement/workspace.ts";
import { A2EError } from "../../../protocol/errors.ts";

interface AllowedFoldersOptions {
  workspaceDir: string;
  /** The base of relative folders. */
  baseDir: string;
  folders: readonly string[];
  writableFolders: readonly string[];
}

export class AllowedFolders {
  readonly #workspaceDir: string;
  readonly #folders: readonly { workspace: Workspace; isWritable: boolean }[];

  constructor({ workspaceDir, baseDir, folders, writableFolders }: AllowedFoldersOptions) {
    const allow = (path: string, isWritable: boolean) => ({ workspace: new Workspace(path), isWritable });
    this.#workspaceDir = resolve(workspaceDir);
    this.#folders = [
      allow(this.#workspaceDir, true),
      ...writableFolders.map((folder) => allow(resolve(baseDir, folder), true)),
      ...folders.map((folder) => allow(resolve(baseDir, folder), false)),
    ];
  }

  /**
   * A place in the first folder that contains the path and allows the access. Relative paths start at the workspace.
   */
  async find(path: string, { write }: { write: boolean }): Promise<ConfinedPlace> {
    let isReadable = false;
    for (const { workspace, isWritable } of this.#folders) {
      const segments = await workspace.resolve(resolve(this.#workspaceDir, path)).catch(ignoreForbidden);
      if (segments === undefined) continue;
      isReadable = true;
      if (!write || isWritable) return new ConfinedPlace(workspace, segments);
    }
    const why = isReadable ? "is read-only" : "is not in a folder that toolkits may use";
    throw new A2EError(
      "forbidden",
      `"${path}" ${why}: use the workspace, or ask the operator of this host to allow it (folders, writable_folders)`,
    );
  }
}

/** A folder or file within an allowed folder. It is opened from the allowed folder down, without following links. */
export class ConfinedPlace {
  readonly #workspace: Workspace;
  readonly #base: readonly string[];

  constructor(workspace: Workspace, base: readonly string[]) {
    this.#workspace = workspace;
    this.#base = base;
  }

  /** The path with all links resolved. */
  async realPath(): Promise<string> {
    return join(await this.#workspace.root(), ...this.#base);
  }

  /** Returns the segments below this place. A link may lead anywhere within the place, but not out of it. */
  async resolve(path: string): Promise<string[]> {
    if (isAbsolute(path)) throw outside(path);
    const segments = await this.#workspace.resolve([...this.#base, path].join("/"));
    if (this.#base.some((name, index) => segments[index] !== name)) throw outside(path);
    return segments.slice(this.#base.length);
  }

  openFolder(segments: readonly string[], options?: { create?: boolean }): Promise<WorkspaceFolder> {
    return this.#workspace.openFolder([...this.#base, ...segments], options);
  }

  openFile(segments: readonly string[], flags: number): Promise<FileHandle> {
    return this.#workspace.openFile([...this.#base, ...segments], flags);
  }
}

function outside(path: string): A2EError {
  return new A2EError("forbidden", `"${path}" is outside the root of this toolkit; use a path relative to it`);
}

function ignoreForbidden(error: unknown): undefined {
  if (!(error instanceof A2EError && error.code === "forbidden")) throw error;
  return undefined;
}
