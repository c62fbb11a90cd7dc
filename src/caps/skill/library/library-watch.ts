// Reports which skills were added, changed or removed since the last comparison.
import { dirname } from "node:path";
import type { Logger } from "../../../plugin/logger.ts";
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

  /** Reads the skills once, as the state that later changes are compared with. */
  start(): Promise<void> {
    this.#started ??= this.#library.list().then(
      (entries) => {
        this.#known = this.#note(entries);
      },
      (error: unknown) => this.#warn(error),
    );
    return this.#started;
  }

  /** Calls the listener until the returned function is called. */
  onChange(listener: (changes: SkillChanges) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Compares the skills with the known state; one comparison at a time. */
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
    this.#log.warn("reading the folders of skills failed", { error: String(error) });
  }

  #note(entries: readonly SkillEntry[]): Map<string, string> {
    const roots = this.#roots.map(({ path }) => path);
    const folders = entries.flatMap(({ versions }) => versions.map(({ folder }) => folder));
    // Also the parents: a missing root appears in its parent, and a new version in the folder of its skill.
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
