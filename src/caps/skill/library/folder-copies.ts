// Scripts run in copies of their folders. A copy never changes, so a call in flight keeps its version to the last import,
// whatever happens to the folder meanwhile; and links are not in it, so it leads nowhere.
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
  /** For whoever used it, once. */
  release(): Promise<void>;
}

interface Copy {
  readonly path: string;
  readonly made: Promise<void>;
  users: number;
  /** A newer one has taken its place: it goes with its last user. */
  isOld: boolean;
}

export class FolderCopies {
  readonly #folder: string;
  /** The beginning of the names of its copies: other hosts may have theirs beside them, as each command has a host. */
  readonly #mark = `${processMark()}${randomUUID()}-`;
  /** The newest copy of each folder. */
  readonly #newest = new Map<string, { key: string; copy: Copy }>();
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Removes what a host that was killed has left. */
  open(): Promise<void> {
    return this.#removeAll(isAbandoned);
  }

  close(): Promise<void> {
    this.#newest.clear();
    return this.#removeAll((name) => name.startsWith(this.#mark));
  }

  /** Rejects with SkillChanged where the folder is no longer that of this skill. */
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

/** Half of one version and half of another is none. */
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

/** Each file is opened without following any link: between the list and the copy, one may have been put there. */
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

/** Outer ones first; the empty one is the whole. */
function foldersOf(files: readonly SkillFile[]): Set<string> {
  const folders = new Set([""]);
  for (const { path } of files)
    for (let end = path.indexOf("/"); end !== -1; end = path.indexOf("/", end + 1)) folders.add(path.slice(0, end));
  return folders;
}

/** Whoever runs in the sandbox is not the user of the host, whose umask may keep others out. */
function openToAll(path: string): Promise<void> {
  return chmod(path, 0o755);
}

function keyOf(files: readonly SkillFile[]): string {
  return createHash("sha256").update(JSON.stringify(files)).digest("hex");
}
