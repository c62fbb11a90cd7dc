// Scripts run in copies of their folders. A copy never changes, so a running call uses the same version to its last
// import, even if the folder changes. A copy has no links, so a script cannot leave it.
import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Workspace } from "../../../machinery/confinement/workspace.ts";
import { isAbandoned, processMark } from "../../../machinery/processes/process-life.ts";
import { messageOf } from "../../../protocol/errors.ts";
import { skillLimits } from "../limits.ts";
import { cannotRun } from "../problems.ts";
import { checkFiles, listFiles, type SkillFile } from "./folder-files.ts";
import type { Skill } from "./skill.ts";
import { SkillChanged } from "./skill-changed.ts";

export interface FolderCopy {
  readonly path: string;
  /** Must be called once by each user of the copy. */
  release(): Promise<void>;
}

interface Copy {
  readonly path: string;
  readonly made: Promise<void>;
  users: number;
  /** A newer copy has replaced it: it is removed after its last user. */
  isOld: boolean;
}

export class FolderCopies {
  readonly #folder: string;
  /**
   * The prefix of the names of this host's copies. Other hosts, for example those of commands, may use the same folder.
   */
  readonly #mark = `${processMark()}${randomUUID()}-`;
  /** The newest copy of each folder. */
  readonly #newest = new Map<string, { key: string; copy: Copy }>();
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Removes the copies that a killed host has left. */
  open(): Promise<void> {
    return this.#removeAll(isAbandoned);
  }

  close(): Promise<void> {
    this.#newest.clear();
    return this.#removeAll((name) => name.startsWith(this.#mark));
  }

  /** Rejects with SkillChanged if the folder no longer has the version of this skill. */
  async use(skill: Skill): Promise<FolderCopy> {
    const files = await listFiles(skill.folder);
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (files.length >= skillLimits.maxFiles || bytes > skillLimits.maxFolderBytes)
      throw cannotRun(
        skill.name,
        `its folder has more than ${skillLimits.maxFiles} files or ${skillLimits.maxFolderBytes} bytes`,
      );
    checkFiles(skill, files);
    const copy = this.#find(skill.folder, files);
    copy.users += 1;
    const release = () => this.#release(copy);
    try {
      await copy.made;
    } catch (error) {
      if (this.#newest.get(skill.folder)?.copy === copy) this.#newest.delete(skill.folder);
      copy.isOld = true;
      await release();
      if (error instanceof SkillChanged) throw error;
      throw cannotRun(skill.name, `it cannot be copied: ${messageOf(error)}`);
    }
    return { path: copy.path, release };
  }

  #find(folder: string, files: readonly SkillFile[]): Copy {
    const key = keyOf(files);
    const known = this.#newest.get(folder);
    if (known?.key === key) return known.copy;
    const path = join(this.#folder, `${this.#mark}${++this.#count}`);
    const copy: Copy = { path, made: copyFolder(folder, files, path), users: 0, isOld: false };
    this.#newest.set(folder, { key, copy });
    if (known !== undefined) {
      known.copy.isOld = true;
      if (known.copy.users === 0) void remove(known.copy);
    }
    return copy;
  }

  async #removeAll(isWanted: (name: string) => boolean): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names.filter(isWanted)) await rm(join(this.#folder, name), { recursive: true, force: true });
  }

  async #release(copy: Copy): Promise<void> {
    copy.users -= 1;
    if (copy.users === 0 && copy.isOld) await remove(copy);
  }
}

async function remove({ path, made }: Copy): Promise<void> {
  await made.catch(() => {});
  await rm(path, { recursive: true, force: true }).catch(() => {});
}

/** Throws SkillChanged if files changed during the copy, so that a copy never mixes two versions. */
async function copyFolder(from: string, files: readonly SkillFile[], to: string): Promise<void> {
  const partial = `${to}.partial`;
  const failure = await copyFiles(from, files, partial).then(
    () => undefined,
    (error: Error) => error,
  );
  const hasChanged = keyOf(await listFiles(from)) !== keyOf(files);
  if (!hasChanged && failure === undefined) return rename(partial, to);
  await rm(partial, { recursive: true, force: true });
  throw hasChanged ? new SkillChanged() : failure;
}

/** Opens each file without following links: a file may have been replaced by a link since the listing. */
async function copyFiles(from: string, files: readonly SkillFile[], to: string): Promise<void> {
  const folder = new Workspace(from);
  await mkdir(dirname(to), { recursive: true });
  for (const path of foldersOf(files)) {
    await mkdir(join(to, path));
    await openToAll(join(to, path));
  }
  for (const { path } of files) {
    const target = join(to, path);
    const file = await folder.openFile(path.split("/"), constants.O_RDONLY);
    try {
      await writeFile(target, file.createReadStream({ autoClose: false }));
    } finally {
      await file.close();
    }
    await openToAll(target);
  }
}

/** The folders of these files, parents first; the empty path is the folder itself. */
function foldersOf(files: readonly SkillFile[]): Set<string> {
  const folders = new Set([""]);
  for (const { path } of files)
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) folders.add(path.slice(0, end));
  return folders;
}

/** The sandbox runs the script as a different user, whom the umask of the host may exclude. */
function openToAll(path: string): Promise<void> {
  return chmod(path, 0o755);
}

function keyOf(files: readonly SkillFile[]): string {
  return createHash("sha256").update(JSON.stringify(files)).digest("hex");
}
