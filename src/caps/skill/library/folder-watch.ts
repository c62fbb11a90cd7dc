// Calls back some time after something changed in a set of folders. A hint, not a promise: networks and containers swallow
// such events, and so nothing that must be right depends on them.
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

  /** Watches these folders and no others, not what is below them. */
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
        // What was put in the place of a folder is another one, and the watch is still on the one that was there.
        if (kind === "rename" && name !== null) this.#forgetBelow(join(folder, name));
        this.#changed();
      });
      // A folder that goes away, or a system out of watches: noticed on use.
      watcher.on("error", () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
    } catch {
      // It does not exist yet.
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
