// A power cut leaves of each file what was synced, and any part of what was written since. What is on the disk, or what
// somebody was told to be there, must be there all the same, and nothing without what came before it.
import { copyFileSync, fstatSync, readFileSync, statSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Database, TurnLog } from "../host/ports/database.ts";
import { createSqliteDatabase } from "./sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "./temporary-folder.suite.ts";

const newPath = useTemporaryFolder();
const pageBytes = 4096;
const suffixes = ["-wal", "-turns"];

/** Keeps numbers, one per turn, in the order in which they come. */
class Keeper {
  readonly path: string;
  readonly durability: "power" | "process";
  /** The highest number of all, of those that somebody was told of, and of those in tables. */
  last = 0;
  told = 0;
  inTables = 0;
  /** What is on the disk for sure: tables up to this number, and the log up to that one, if the tables below it are. */
  tablesOnDisk = 0;
  #logOnDisk = { told: 0, inTables: 0 };
  /** What of each file is on the disk for sure. */
  readonly #onDisk = new Map<string, Buffer>();
  readonly #syncs: (() => void)[] = [];
  #started = 0;
  /** The last sync of each file that has ended. */
  readonly #ended = new Map<string, number>();
  #database!: Database;
  #log!: TurnLog;
  #unfolded: number[] = [];
  #fresh: number[] = [];

  constructor(path: string, durability: "power" | "process") {
    this.path = path;
    this.durability = durability;
  }

  async start(): Promise<void> {
    const database = await createSqliteDatabase({
      path: this.path,
      durability: this.durability,
      syncIntervalMs: 0,
      logBytes: pageBytes,
      syncFile: (file, callback) => {
        const name = suffixes.find((suffix) => statSync(this.path + suffix).ino === fstatSync(file).ino) as string;
        const content = readFileSync(this.path + name);
        const { told, inTables } = this;
        this.#started += 1;
        const number = this.#started;
        this.#syncs.push(() => {
          // Of two that are under way at once the older may end last.
          if (number > (this.#ended.get(name) ?? 0)) {
            this.#ended.set(name, number);
            this.#onDisk.set(name, content);
            if (name === "-wal") this.tablesOnDisk = Math.max(this.tablesOnDisk, inTables);
            else this.#logOnDisk = { told, inTables };
          }
          callback(null);
        });
      },
    });
    this.#database = database;
    database.migrate("test", ["CREATE TABLE kept (value INTEGER NOT NULL); CREATE TABLE other (value INTEGER)"]);
    const insert = database.prepare("INSERT INTO kept (value) VALUES (?)");
    this.#log = database.openLog?.({
      recover: (record) => void this.#unfolded.push(Number(record)),
      fold: () => {
        for (const value of [...this.#unfolded, ...this.#fresh]) insert.run(value);
      },
      ended: (how) => {
        if (how === "folded") this.#unfolded = [];
        if (how === "folded") this.inTables = this.last;
        if (how === "logged") this.#unfolded.push(...this.#fresh);
        this.#fresh = [];
      },
    }) as TurnLog;
    await this.turn();
    while (this.#syncs.length > 0) this.sync();
    for (const suffix of suffixes) this.#onDisk.set(suffix, readFileSync(this.path + suffix));
  }

  append(isInTables: boolean): void {
    this.last += 1;
    const value = this.last;
    if (isInTables) this.#database.write(() => this.#database.prepare("INSERT INTO other VALUES (?)").run(value));
    // Long enough for a frame that lies in two pages, of which one may be lost.
    this.#log.append(String(value).padEnd(1500));
    this.#fresh.push(value);
    this.#database.afterCommit((error) => {
      expect(error).toBeUndefined();
      this.told = value;
    });
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** One of the syncs that are under way ends. */
  sync(which = 0): void {
    this.#syncs.splice(which % Math.max(1, this.#syncs.length), 1)[0]?.();
  }

  /** The highest number that no power cut can take. */
  get safe(): number {
    const { told, inTables } = this.#logOnDisk;
    return inTables <= this.tablesOnDisk ? Math.max(told, this.tablesOnDisk) : this.tablesOnDisk;
  }

  /** What is left, as files of another name: of what is not on the disk for sure, the pages for which `isLucky` says so. */
  cut(isLucky: () => boolean): string {
    const left = newPath();
    copyFileSync(this.path, left);
    for (const suffix of suffixes) {
      const written = readFileSync(this.path + suffix);
      const onDisk = this.#onDisk.get(suffix) ?? Buffer.alloc(0);
      const bytes = Buffer.alloc(written.length);
      onDisk.copy(bytes);
      for (let at = 0; at < bytes.length; at += pageBytes)
        if (isLucky()) written.copy(bytes, at, at, Math.min(at + pageBytes, written.length));
      writeFileSync(left + suffix, bytes);
    }
    return left;
  }

  kept(): number[] {
    const rows = this.#database.prepare("SELECT value FROM kept").all();
    return [...rows.map(({ value }) => Number(value)), ...this.#unfolded].sort((one, other) => one - other);
  }

  others(): number[] {
    return this.#database
      .prepare("SELECT value FROM other ORDER BY value")
      .all()
      .map(({ value }) => Number(value));
  }

  async close(): Promise<void> {
    const closing = this.#database.close();
    while (this.#syncs.length > 0) this.sync();
    await closing;
  }
}

const step = fc.constantFrom("append", "append", "append in tables", "turn", "turn", 0, 1, 2);

const promises = [
  ["all that was told", "power"],
  ["all that was on the disk", "process"],
] as const;

test.each(promises)(
  "whatever a power cut leaves of what was not synced, %s is there, and no gap (%s)",
  async (_, durability) => {
    const luck = fc.infiniteStream(fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), luck, luck, async (steps, ...lucks) => {
        let keeper = new Keeper(newPath(), durability);
        await keeper.start();
        // Twice: what the first cut left must not confuse what the next process writes.
        for (const lucky of lucks) {
          const inTables = new Set(keeper.others());
          for (const next of steps) {
            if (next === "turn") await keeper.turn();
            else if (typeof next === "number") keeper.sync(next);
            else {
              keeper.append(next === "append in tables");
              if (next === "append in tables") inTables.add(keeper.last);
              await keeper.turn();
            }
          }
          const promised = durability === "power" ? keeper.told : keeper.safe;
          const left = keeper.cut(() => lucky.next().value);
          await keeper.close();

          const again = new Keeper(left, durability);
          await again.start();
          const kept = again.kept();
          expect(kept.length).toBeGreaterThanOrEqual(promised);
          expect(kept).toEqual(Array.from(kept, (_, index) => index + 1));
          expect(again.others()).toEqual([...inTables].filter((value) => value <= kept.length).sort((a, b) => a - b));
          again.last = again.told = again.inTables = again.tablesOnDisk = kept.length;
          keeper = again;
        }
        await keeper.close();
      }),
      { numRuns: 100 },
    );
  },
);
