// Calls back some time after a change in a set of folders. Only a hint: network file systems and containers may not
// report changes, so correctness must not depend on it.
import { type FSWatcher, watch } from "node:fs";
import { join, sep } from "node:path";
import { skillLimits } from "../limits.ts";

/** Editors and installers write many files at once. */
const quietMs = 100;

export class FolderWatch {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #onChange: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** Watches exactly these folders, without their subfolders. */
  set(folders: Iterable<string>): void {
    if (this.#isClosed) return;
    const wanted = new Set([...folders].slice(0, skillLimits.maxWatchedFolders));
    for (const folder of [...this.#watchers.keys()]) if (!wanted.has(folder)) this.#forget(folder);
    for (const folder of wanted) if (!this.#watchers.has(folder)) this.#add(folder);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const folder of [...this.#watchers.keys()]) this.#forget(folder);
  }

  #add(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (kind, name) => {
        // A folder that was replaced is a different folder, and the watch is still on the old one.
        if (kind === "rename" && name !== null) this.#forgetBelow(join(folder, name));
        this.#changed();
      });
      // The folder was removed, or the system has no watches left. Its changes are noticed when a skill is used.
      watcher.on("error", () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
    } catch {
      // The folder does not exist yet.
    }
  }

  #forgetBelow(path: string): void {
    if (!this.#watchers.has(path)) return;
    for (const folder of [...this.#watchers.keys()])
      if (folder === path || folder.startsWith(path + sep)) this.#forget(folder);
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #changed(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, quietMs);
    this.#timer.unref();
  }
}
