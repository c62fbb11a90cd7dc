// Tells which skills have come, changed or gone since it was last looked.
import { dirname } from "node:path";
import type { Logger } from "../../../host/logger.ts";
import { FolderWatch } from "./folder-watch.ts";
import type { SkillEntry, SkillLibrary, SkillRoot } from "./library.ts";

export interface SkillChanges {
  added: string[];
  changed: string[];
  removed: string[];
}

export class LibraryWatch {
  readonly #library: SkillLibrary;
  readonly #roots: readonly SkillRoot[];
  readonly #log: Logger;
  readonly #listeners = new Set<(changes: SkillChanges) => void>();
  readonly #folders = new FolderWatch(() => void this.look());
  #known = new Map<string, string>();
  #started: Promise<void> | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(library: SkillLibrary, roots: readonly SkillRoot[], log: Logger) {
    this.#library = library;
    this.#roots = roots;
    this.#log = log;
  }

  /** Begins, once; what is there now is no change. */
  start(): Promise<void> {
    this.#started ??= this.#library.list().then(
      (entries) => {
        this.#known = this.#note(entries);
      },
      (error: unknown) => this.#warn(error),
    );
    return this.#started;
  }

  /** Until the returned function is called. */
  onChange(listener: (changes: SkillChanges) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Compares with what was known; one look at a time. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#compare()).catch((error: unknown) => this.#warn(error));
    return this.#looking;
  }

  async close(): Promise<void> {
    this.#folders.close();
    this.#listeners.clear();
    await this.#started;
    await this.#looking;
  }

  async #compare(): Promise<void> {
    const before = this.#known;
    const now = this.#note(await this.#library.list());
    this.#known = now;
    const changes = {
      added: [...now.keys()].filter((name) => !before.has(name)),
      changed: [...now].filter(([name, stamp]) => (before.get(name) ?? stamp) !== stamp).map(([name]) => name),
      removed: [...before.keys()].filter((name) => !now.has(name)),
    };
    if (Object.values(changes).every((names) => names.length === 0)) return;
    for (const listener of this.#listeners) listener(changes);
  }

  #warn(error: unknown): void {
    this.#log.warn("folders of skills could not be read", { error: String(error) });
  }

  #note(entries: readonly SkillEntry[]): Map<string, string> {
    const roots = this.#roots.map(({ path }) => path);
    const folders = entries.flatMap(({ versions }) => versions.map(({ folder }) => folder));
    // Parents too: of a root that does not exist yet, and of versions, where the next one will appear.
    this.#folders.set([
      ...roots,
      ...roots.map((path) => dirname(path)),
      ...folders,
      ...folders.map((path) => dirname(path)),
    ]);
    return new Map(
      entries.map(({ name, versions }) => [name, versions.map(({ folder, stamp }) => `${folder} ${stamp}`).join("\n")]),
    );
  }
}
