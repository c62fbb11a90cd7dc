// The folders of all sessions for `env/data`: one per session, and those that forks share. Folders that no session has
// used for long are removed.
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Marks a folder that several sessions read. The mark is a file in the folder, since old snapshots still name the
 * folder.
 */
const frozenMark = "%frozen";
/** The folder for incomplete copies. */
export const incoming = "%incoming";

/** Whether this is the folder of a data root. Names of roots are URL-encoded, so `%` is never followed by a word. */
export function isRootName(name: string): boolean {
  return name !== frozenMark && name !== incoming;
}

export class StagedFolders {
  readonly #root: string;
  /** Functions that return the folders an open session uses. */
  readonly #users = new Set<() => readonly string[]>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Protects the folders of a session from `collect` until the returned function is called. */
  enter(inUse: () => readonly string[]): () => void {
    this.#users.add(inUse);
    return () => this.#users.delete(inUse);
  }

  pathOf(id: string): string {
    return join(this.#root, id);
  }

  exists(id: string): boolean {
    return existsSync(this.pathOf(id));
  }

  /** No session writes to the folder from now on. */
  freeze(id: string): void {
    writeFileSync(join(this.pathOf(id), frozenMark), "");
  }

  isFrozen(id: string): boolean {
    return existsSync(join(this.pathOf(id), frozenMark));
  }

  async create(id: string): Promise<void> {
    await mkdir(this.pathOf(id), { recursive: true });
  }

  /** Copies a folder, completely or not at all. */
  async copy(from: string, to: string): Promise<void> {
    const partial = this.#partialOf(to);
    await rm(partial, { recursive: true, force: true });
    await cp(this.pathOf(from), partial, this.#copying(from));
    // `copyNow` may have created the folder meanwhile.
    if (this.exists(to)) await rm(partial, { recursive: true, force: true });
    else await rename(partial, this.pathOf(to));
  }

  /** Like `copy`, for callers that cannot wait. */
  copyNow(from: string, to: string): void {
    const partial = `${this.#partialOf(to)}-now`;
    rmSync(partial, { recursive: true, force: true });
    cpSync(this.pathOf(from), partial, this.#copying(from));
    renameSync(partial, this.pathOf(to));
  }

  #copying(from: string) {
    const folder = this.pathOf(from);
    return {
      recursive: true,
      filter: (path: string) => dirname(path) !== folder || isRootName(basename(path)),
    };
  }

  #partialOf(id: string): string {
    return `${this.pathOf(id)}.partial`;
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { recursive: true, force: true });
  }

  /** Marks a folder as in use now, so that `collect` keeps it. */
  async touch(id: string, now: number): Promise<void> {
    await utimes(this.pathOf(id), now / 1000, now / 1000).catch(() => {});
  }

  /**
   * Removes folders that no session has used since `olderThan`. A session that is resumed later starts from the
   * baseline again.
   */
  async collect(olderThan: number): Promise<void> {
    const used = new Set([...this.#users].flatMap((inUse) => inUse()));
    for (const name of await readdir(this.#root).catch(() => [])) {
      if (used.has(name)) continue;
      const path = join(this.#root, name);
      const entry = await stat(path).catch(() => undefined);
      if (entry !== undefined && entry.mtimeMs < olderThan) await rm(path, { recursive: true, force: true });
    }
  }
}
