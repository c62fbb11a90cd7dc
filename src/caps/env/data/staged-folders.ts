// The folders in which sessions keep the files of `env/data`, one for each, and those that forks still share. Sessions
// come and go; what nobody has touched for long is removed.
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { cp, mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** Marks a folder that several sessions read from. It lies in the folder, since old snapshots name that as well. */
const frozenMark = "%frozen";
/** Holds what is being made. */
export const incoming = "%incoming";

/** Whether this is a data root of an agent: none is called so, since none has a percent sign before a word. */
export function isRootName(name: string): boolean {
  return name !== frozenMark && name !== incoming;
}

export class StagedFolders {
  readonly #root: string;
  /** What open sessions use, asked when it matters. */
  readonly #users = new Set<() => readonly string[]>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Keeps what this session names for as long as it is open. */
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

  /** Nobody writes to it from now on. */
  freeze(id: string): void {
    writeFileSync(join(this.pathOf(id), frozenMark), "");
  }

  isFrozen(id: string): boolean {
    return existsSync(join(this.pathOf(id), frozenMark));
  }

  async create(id: string): Promise<void> {
    await mkdir(this.pathOf(id), { recursive: true });
  }

  /** A copy, whole or not at all. */
  async copy(from: string, to: string): Promise<void> {
    const partial = this.#partialOf(to);
    await rm(partial, { recursive: true, force: true });
    await cp(this.pathOf(from), partial, this.#copying(from));
    // An environment may have needed it sooner.
    if (this.exists(to)) await rm(partial, { recursive: true, force: true });
    else await rename(partial, this.pathOf(to));
  }

  /** The same for whoever cannot wait. */
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

  /** What is in use is not old, whenever it was staged. */
  async touch(id: string, now: number): Promise<void> {
    await utimes(this.pathOf(id), now / 1000, now / 1000).catch(() => {});
  }

  /** Removes what no session has touched since; one that comes back later starts from the baseline again. */
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
