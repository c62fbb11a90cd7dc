// Where the journals of tests lie: what is durable about sessions must be so in each of these.
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HostOptions } from "../../host/host.ts";
import type { Journal } from "../../host/ports/journal.ts";
import type { Database } from "../../plugin/ports/database.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createJournal } from "./create-journal.ts";
import { copyKept, type KeptSessions, LateJournalStore, type LateStoreOptions } from "./late-journal-store.suite.ts";
import { createSqlJournal } from "./sql-journal-store.ts";

export interface JournalPlace {
  /** What the next host is started with. */
  open(): Promise<Pick<HostOptions, "database"> & { journal: Journal }>;
  /** The next commit of the host that was opened last fails. */
  failNext(): void;
  /** Kills the host that was opened last: uncommitted turns are lost, and the host must not be used afterwards. */
  crash(): Promise<void>;
  /** What is durable now, as a killed host would leave it, apart from the original. */
  copy(): Promise<JournalPlace>;
  remove(): Promise<void>;
}

export const journalPlaces: [name: string, create: () => Promise<JournalPlace>][] = [
  ["in SQLite", async () => createSqlitePlace(await mkdtemp(join(tmpdir(), "a2e-durable-")))],
  ["in a store that commits later", async () => createLatePlace()],
];

function createSqlitePlace(first: string): JournalPlace {
  let database: Database | undefined;
  const folders = [first];
  const newest = () => folders.at(-1) as string;
  const copyFolder = async () => {
    const copy = await mkdtemp(join(tmpdir(), "a2e-durable-"));
    await cp(newest(), copy, { recursive: true });
    return copy;
  };
  return {
    async open() {
      database = await createSqliteDatabase({ path: join(newest(), "a2e.sqlite") });
      return { database, journal: createSqlJournal(database) };
    },
    async crash() {
      const copy = await copyFolder();
      await database?.close();
      folders.push(copy);
    },
    failNext() {
      database?.beforeCommit((error) => {
        if (error === undefined) throw new Error("disk full");
      });
    },
    copy: async () => createSqlitePlace(await copyFolder()),
    async remove() {
      for (const folder of folders) await rm(folder, { recursive: true, force: true });
    },
  };
}

export function createLatePlace(kept: KeptSessions = new Map(), options?: LateStoreOptions): JournalPlace {
  let isFailing = false;
  let store: LateJournalStore | undefined;
  const fails = () => {
    const fails = isFailing;
    isFailing = false;
    return fails;
  };
  return {
    // For plugins that keep more than sessions.
    async open() {
      store = new LateJournalStore(kept, { fails, ...options });
      return { database: await createSqliteDatabase({ path: ":memory:" }), journal: createJournal(store) };
    },
    async crash() {
      store?.crash();
    },
    failNext() {
      isFailing = true;
    },
    copy: async () => createLatePlace(copyKept(kept), options),
    async remove() {},
  };
}
