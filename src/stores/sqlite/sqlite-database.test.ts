import { closeSync, fdatasync, openSync, statSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openSqlite } from "./sqlite.ts";
import { createSqliteDatabase, type SqliteDatabaseOptions } from "./sqlite-database.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-database-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const openDatabase = (options: Omit<SqliteDatabaseOptions, "path"> = {}) =>
  createSqliteDatabase({ path: join(folder, "a2e.sqlite"), ...options });

const durabilities = ["power", "process"] as const;

test.each(durabilities)(
  "callbacks come in the order of the commits they wait for, however many syncs are under way (%s)",
  async (durability) => {
    const database = await openDatabase({ durability });
    database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL)"]);
    const insert = database.prepare("INSERT INTO number (value) VALUES (?)");
    const order: number[] = [];
    for (let count = 0; count < 50; count++) {
      database.write(() => insert.run(count));
      database.afterCommit((error) => {
        if (error === undefined) order.push(count);
      });
      // A turn of its own for each, and no waiting for its sync.
      await new Promise(setImmediate);
    }
    await database.close();

    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index));
  },
);

test.each(durabilities)("closing waits until the last turn is written (%s)", async (durability) => {
  const database = await openDatabase({ durability });
  database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL)"]);
  database.write(() => database.prepare("INSERT INTO number (value) VALUES (?)").run(1));
  const errors: unknown[] = [];
  database.afterCommit((error) => errors.push(error));
  await database.close();
  expect(errors).toEqual([undefined]);

  const again = await openDatabase();
  expect(again.prepare("SELECT value FROM number").all()).toEqual([{ value: 1 }]);
  await again.close();
});

test("a write that fails is rolled back alone; the rest of its turn is committed", async () => {
  const database = await openDatabase();
  database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL UNIQUE)"]);
  const insert = database.prepare("INSERT INTO number (value) VALUES (?)");
  database.write(() => insert.run(1));
  expect(() =>
    database.write(() => {
      insert.run(2);
      insert.run(1);
    }),
  ).toThrow(/UNIQUE/);
  database.write(() => insert.run(3));
  await database.close();

  const again = await openDatabase();
  expect(again.prepare("SELECT value FROM number ORDER BY value").all()).toEqual([{ value: 1 }, { value: 3 }]);
  await again.close();
});

test("tables of a newer release are refused by name", async () => {
  const database = await openDatabase();
  database.migrate("test", ["CREATE TABLE one (value INTEGER)", "CREATE TABLE two (value INTEGER)"]);
  expect(() => database.migrate("test", ["CREATE TABLE one (value INTEGER)"])).toThrow(
    /tables of "test" have version 2, written by a newer release/,
  );
  await database.close();
});

test.each(durabilities)(
  "a turn that ends while every sync is under way is committed when one of them ends (%s)",
  async (durability) => {
    const database = await openDatabase({ durability });
    database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL)"]);
    const insert = database.prepare("INSERT INTO number (value) VALUES (?)");
    const told: number[] = [];
    const last = new Promise<void>((resolve) => {
      const writeNext = (value: number) => {
        database.write(() => insert.run(value));
        database.afterCommit(() => {
          told.push(value);
          if (value === 20) resolve();
          // From within the release of another commit.
          else if (value % 2 === 0) writeNext(value + 2);
        });
      };
      writeNext(1);
      writeNext(2);
    });
    await last;
    expect(told).toEqual([1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    await database.close();
  },
);

test.each(durabilities)("a callback that throws does not keep the others waiting (%s)", async (durability) => {
  const database = await openDatabase({ durability });
  database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL)"]);
  const caught: unknown[] = [];
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => caught.push(error));
  try {
    database.afterCommit(() => {
      throw new Error("mine");
    });
    const isTold = await new Promise((resolve) => database.afterCommit(() => resolve(true)));
    expect(isTold).toBe(true);
    await database.close();
    expect(caught).toEqual([expect.objectContaining({ message: "mine" })]);
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of before) process.on("uncaughtException", listener);
  }
});

/** Writes increasing numbers, one per turn. */
async function openNumbers(options: Omit<SqliteDatabaseOptions, "path">) {
  const database = await openDatabase(options);
  database.migrate("test", ["CREATE TABLE number (value INTEGER NOT NULL)"]);
  const insert = database.prepare("INSERT INTO number (value) VALUES (?)");
  const settled = () => new Promise<Error | undefined>((resolve) => database.afterCommit(resolve));
  const write = (value: number) => {
    database.write(() => insert.run(value));
    return settled();
  };
  return { database, settled, write };
}

test("after a failed sync nothing counts as durable, even if later syncs succeed", async () => {
  let failing: Error | undefined;
  const { database, settled, write } = await openNumbers({
    durability: "power",
    syncFile: (file, callback) => fdatasync(file, (error) => callback(failing ?? error)),
  });

  expect(await write(1)).toBeUndefined();
  failing = new Error("the disk is gone");
  expect(await write(2)).toBe(failing);
  const { message } = failing;
  failing = undefined;
  expect(await write(3)).toMatchObject({ message });
  // This turn wrote nothing, but the writes before it may be lost.
  expect(await settled()).toMatchObject({ message });
  await database.close();
});

test("with durability 'process' a turn is reported at once, and is synced later", async () => {
  const syncs: ((error: Error | null) => void)[] = [];
  const { database, write } = await openNumbers({
    syncIntervalMs: 20,
    syncFile: (_file, callback) => void syncs.push(callback),
  });
  expect(await write(1)).toBeUndefined();
  expect(syncs).toHaveLength(1);
  for (let value = 2; value < 50; value++) expect(await write(value)).toBeUndefined();
  // A single sync at a time, however slow the disk is.
  expect(syncs).toHaveLength(1);
  syncs.shift()?.(null);
  await vi.waitFor(() => expect(syncs).toHaveLength(1));
  const closing = database.close();
  while (syncs.length > 0) syncs.shift()?.(null);
  await closing;
});

test("a failed sync that no turn waited for is reported with the next turn", async () => {
  const failure = new Error("the disk is gone");
  const { database, settled, write } = await openNumbers({
    syncFile: (_file, callback) => setImmediate(callback, failure),
  });
  expect(await write(1)).toBeUndefined();
  await vi.waitFor(() => expect(database.failure).toBe(failure));
  expect(await write(2)).toBe(failure);
  expect(await settled()).toBe(failure);
  await database.close();
});

test("closing right after a write leaves nothing to sync", async () => {
  const { database } = await openNumbers({});
  const closed = new Promise<void>((resolve) => {
    database.write(() => {});
    database.afterCommit(() => resolve(database.close()));
  });
  await closed;
  expect(database.failure).toBeUndefined();
});

test("closing does not wait for the next sync to be due, but for the sync", async () => {
  let synced = 0;
  const { database, write } = await openNumbers({
    syncIntervalMs: 3_600_000,
    syncFile: (_file, callback) =>
      setImmediate(() => {
        synced += 1;
        callback(null);
      }),
  });
  await write(1);
  await write(2);
  await database.close();
  expect(synced).toBe(2);
});

test("damage in the middle of the file is reported with the file name and advice, whichever statement finds it", async () => {
  const path = join(folder, "a2e.sqlite");
  const database = await openDatabase();
  database.migrate("test", ["CREATE TABLE text (id INTEGER PRIMARY KEY, value TEXT NOT NULL)"]);
  const insert = database.prepare("INSERT INTO text (value) VALUES (?)");
  database.write(() => {
    for (let count = 0; count < 2000; count++) insert.run("x".repeat(100));
  });
  await database.close();
  const size = statSync(path).size;
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(size / 2, 0xa5), 0, size / 2, size / 4);
  closeSync(file);

  const damaged = await openDatabase();
  const advice = `database ${path} is damaged or not a SQLite database: move it away together with ${path}-wal, ${path}-shm and ${path}-turns`;
  expect(() => damaged.prepare("SELECT sum(length(value)) FROM text").get()).toThrow(advice);
  expect(() => damaged.prepare("SELECT value FROM text").all()).toThrow(advice);
  expect(() => damaged.write(() => damaged.prepare("DELETE FROM text WHERE value = ''").run())).toThrow(advice);
  expect(statSync(path).size).toBe(size);
  await damaged.close();
});

test("a database that another process keeps locked is reported with its name, and written to when it is free", async () => {
  const database = await openDatabase();
  database.migrate("test", ["CREATE TABLE text (value TEXT NOT NULL)"]);
  await new Promise((resolve) => database.afterCommit(resolve));
  database.prepare("PRAGMA busy_timeout = 0").get();
  const insert = database.prepare("INSERT INTO text (value) VALUES ('x')");
  const stranger = await openSqlite({ path: join(folder, "a2e.sqlite"), migrations: ["-- the host's own"] });
  stranger.exec("BEGIN IMMEDIATE");

  expect(() => database.write(() => insert.run())).toThrow(`database ${join(folder, "a2e.sqlite")} failed`);
  stranger.exec("COMMIT");
  database.write(() => insert.run());

  expect(database.prepare("SELECT count(*) AS count FROM text").get()?.count).toBe(1);
  stranger.close();
  await database.close();
});
