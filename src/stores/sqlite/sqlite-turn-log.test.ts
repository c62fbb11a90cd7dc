import { existsSync, fstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import type { Database } from "../../plugin/ports/database.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { leaveTurns, openTurns as open } from "./opened-turns.suite.ts";
import { openSqlite } from "./sqlite.ts";
import { createSqliteDatabase } from "./sqlite-database.ts";
import { turnLogHalf } from "./turn-log-file.ts";

const newPath = useTemporaryFolder();

test.each(["power", "process"] as const)(
  "a turn that was reported as durable is there after a kill (%s)",
  async (durability) => {
    const path = newPath();
    const { append, database, ends } = await open(path, { durability });
    for (const value of ["a", "b", "c"]) expect(await append(value)).toBeUndefined();
    const left = leaveTurns(path, newPath());
    await database.close();

    // The first turn of a process begins a log of its own.
    expect(ends.slice(0, 3)).toEqual(["folded", "logged", "logged"]);
    const again = await open(left, { durability });
    expect(again.recovered).toEqual(["b", "c"]);
    expect(again.rows()).toEqual(["a", "b", "c"]);
    await again.append("d");
    const twice = await open(leaveTurns(left, newPath()), { durability });
    expect(twice.rows()).toEqual(["a", "b", "c", "d"]);
    await again.database.close();
    await twice.database.close();
  },
);

test("a turn that also writes to tables is there whole, with all that the log had", async () => {
  const path = newPath();
  const { append, database, put, ends, rows } = await open(path);
  await append("a");
  await append("b");
  put("in tables");
  await append("c");
  expect(ends.at(-1)).toBe("folded");
  expect(rows()).toEqual(["a", "in tables", "b", "c"]);
  await append("d");
  expect(ends.at(-1)).toBe("logged");

  const again = await open(leaveTurns(path, newPath()));
  expect(again.recovered).toEqual(["d"]);
  expect([...again.rows()].sort()).toEqual(["a", "b", "c", "d", "in tables"]);
  await again.database.close();
  await database.close();
});

test("a turn that is rolled back leaves no row in tables and no record in the log", async () => {
  const path = newPath();
  const { append, database, put, ends } = await open(path);
  await append("a");
  await append("b");
  put("lost, too");
  database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  expect(await append("lost")).toMatchObject({ message: "disk full" });
  expect(ends.at(-1)).toBe("lost");
  expect(await append("c")).toBeUndefined();

  const again = await open(leaveTurns(path, newPath()));
  expect(again.rows()).toEqual(["a", "b", "c"]);
  await again.database.close();
  await database.close();
});

test("a turn that SQLite has rolled back by itself is lost, and no other turn", async () => {
  const path = newPath();
  const { append, database, ends, put } = await open(path);
  for (const value of ["a", "b", "c"]) await append(value);
  const spill = () =>
    database.write(() => {
      // As SQLite does if the disk is full in the middle of a transaction.
      database.prepare("ROLLBACK").run();
      throw new Error("disk full");
    });
  put("lost, too");
  expect(spill).toThrow("disk full");
  expect(() => put("after it")).toThrow("disk full");
  expect(await append("lost")).toMatchObject({ message: "disk full" });
  expect(ends.at(-1)).toBe("lost");
  expect(await append("d")).toBeUndefined();

  const again = await open(leaveTurns(path, newPath()));
  expect(again.rows()).toEqual(["a", "b", "c", "d"]);
  await again.database.close();
  await database.close();
});

test("records that their owner fails to recover remain in the log for the next start", async () => {
  const path = newPath();
  const { append, database } = await open(path);
  for (const value of ["a", "b", "c"]) await append(value);
  const left = leaveTurns(path, newPath());
  await database.close();
  const failing = await createSqliteDatabase({ path: left });
  const recover = () => {
    throw new Error("what is this?");
  };
  expect(() => failing.openLog?.({ name: "test", recover, fold() {}, ended() {} })).toThrow("what is this?");
  await failing.close();

  const again = await open(left);
  expect(again.rows()).toEqual(["a", "b", "c"]);
  await again.database.close();
});

test("the callback of a lost turn runs after those of the turns before it", async () => {
  const syncs: ((error: Error | null) => void)[] = [];
  const { append, database } = await open(newPath(), { syncFile: (_file, callback) => void syncs.push(callback) });
  const told: string[] = [];
  void append("a").then((error) => told.push(`a ${error?.message}`));
  await new Promise(setImmediate);
  database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  void append("lost").then((error) => told.push(`lost ${error?.message}`));
  await new Promise(setImmediate);
  expect(told).toEqual([]);
  for (const callback of syncs.splice(0)) callback(null);
  await new Promise(setImmediate);
  expect(told).toEqual(["a undefined", "lost disk full"]);
  const closing = database.close();
  for (const callback of syncs.splice(0)) callback(null);
  await closing;
});

test("a log that is full goes to tables, and begins anew", async () => {
  const path = newPath();
  const { append, database, ends } = await open(path);
  const long = "x".repeat(turnLogHalf / 4);
  const values = Array.from({ length: 13 }, (_, index) => `${index}${long}`);
  for (const value of values) expect(await append(value)).toBeUndefined();
  // The first of all, and each that finds a half full.
  expect(ends.flatMap((how, index) => (how === "folded" ? [index] : []))).toEqual([0, 4, 8, 12]);

  const again = await open(leaveTurns(path, newPath()));
  expect(again.rows()).toEqual(values);
  await again.database.close();
  await database.close();
});

test("a turn that is longer than the log is durable all the same", async () => {
  const path = newPath();
  const { append, database } = await open(path);
  await append("a");
  const long = "x".repeat(turnLogHalf + 1);
  expect(await append(long)).toBeUndefined();
  const again = await open(leaveTurns(path, newPath()));
  expect(again.rows()).toEqual(["a", long]);
  await again.database.close();
  await database.close();
});

test("closed in order, the database has everything by itself", async () => {
  const path = newPath();
  const { append, database } = await open(path);
  for (const value of ["a", "b", "c"]) await append(value);
  void append("in the last turn");
  await database.close();
  expect(existsSync(`${path}-turns`)).toBe(false);

  const again = await open(path);
  expect(again.recovered).toEqual([]);
  expect(again.rows()).toEqual(["a", "b", "c", "in the last turn"]);
  await again.database.close();
});

test("records remain in a log that the next process only opens and closes", async () => {
  const path = newPath();
  const { append, database } = await open(path);
  await append("a");
  await append("b");
  const left = leaveTurns(path, newPath());
  await database.close();
  await (await open(left)).database.close();
  const again = await open(left);
  expect(again.rows()).toEqual(["a", "b"]);
  await again.database.close();
});

/** A disk whose syncs end when the test ends them. */
function useHeldDisk(path: string) {
  let held: { isLog: boolean; callback: (error: Error | null) => void }[] = [];
  return {
    syncFile(file: number, callback: (error: Error | null) => void): void {
      held.push({ isLog: fstatSync(file).ino === statSync(`${path}-turns`).ino, callback });
    },
    /** Ends those of the log, those of tables, or all of them. */
    async sync(which?: "log" | "tables"): Promise<void> {
      await new Promise(setImmediate);
      const ending = held.filter(({ isLog }) => which === undefined || isLog === (which === "log"));
      held = held.filter((sync) => !ending.includes(sync));
      for (const { callback } of ending) callback(null);
      await new Promise(setImmediate);
    },
  };
}

test("a turn in the log is not reported before the tables it builds on are on the disk", async () => {
  const path = newPath();
  const disk = useHeldDisk(path);
  const { append, database, put, ends } = await open(path, { syncFile: disk.syncFile });
  const settled: string[] = [];
  const say = (value: string) => void append(value).then(() => settled.push(value));
  say("a");
  await disk.sync();
  put("in tables");
  say("b");
  await new Promise(setImmediate);
  say("c");
  await disk.sync("log");
  expect([ends.slice(-2), settled]).toEqual([["folded", "logged"], ["a"]]);
  await disk.sync("tables");
  expect(settled).toEqual(["a", "b", "c"]);
  // Tables have all that the log had.
  say("d");
  await new Promise(setImmediate);
  put("in tables");
  say("e");
  await disk.sync("tables");
  expect(settled).toEqual(["a", "b", "c", "d", "e"]);
  const closing = database.close();
  await disk.sync();
  await disk.sync();
  await closing;
});

test("a half is written over only once the tables that it went to are on the disk", async () => {
  const path = newPath();
  const disk = useHeldDisk(path);
  const { append, database, ends } = await open(path, { syncFile: disk.syncFile });
  const long = "x".repeat(turnLogHalf / 2);
  const say = async (value: string) => {
    void append(value + long);
    await new Promise(setImmediate);
  };
  await say("first");
  await disk.sync();
  // The log moved to its second half. It must not move back before that commit is synced, although the log itself is.
  for (const value of ["1", "2", "3"]) await say(value);
  await disk.sync("log");
  for (const value of ["4", "5"]) await say(value);
  expect(ends).toEqual(["folded", "logged", "folded", "logged", "folded", "folded"]);
  await disk.sync();
  await disk.sync();
  for (const value of ["6", "7"]) await say(value);
  expect(ends.slice(-2)).toEqual(["folded", "logged"]);

  const again = await open(leaveTurns(path, newPath()));
  expect(again.rows().map((value) => value.replace(long, ""))).toEqual(["first", "1", "2", "3", "4", "5", "6", "7"]);
  await again.database.close();
  const closing = database.close();
  await disk.sync();
  await disk.sync();
  await closing;
});

test("a disk that is always one commit behind does not keep the log from moving to its other half", async () => {
  const path = newPath();
  let before: (() => void)[] = [];
  let held: (() => void)[] = [];
  const { append, database, put, ends } = await open(path, {
    logBytes: 4096,
    syncFile: (_file, callback) => void held.push(() => callback(null)),
  });
  const sync = async () => {
    for (const end of before) end();
    before = held;
    held = [];
    await new Promise(setImmediate);
  };
  for (let round = 0; round < 20; round++) {
    void append(`${round}`.padEnd(1500));
    await new Promise(setImmediate);
    put("in tables");
    void append(`${round}, in tables`);
    await sync();
  }
  // Without the other half there would be room for two.
  expect(ends.filter((how) => how === "logged").length).toBeGreaterThan(10);
  const closing = database.close();
  for (let round = 0; round < 4; round++) await sync();
  await closing;
});

test("nor does a process go over to the other half before its own first commit is on the disk", async () => {
  const path = newPath();
  const disk = useHeldDisk(path);
  const { append, database, ends } = await open(path, { syncFile: disk.syncFile });
  const long = "x".repeat(turnLogHalf / 2);
  for (const value of ["first", "1", "2", "3"]) {
    void append(value + long);
    await new Promise(setImmediate);
  }
  expect(ends).toEqual(["folded", "logged", "folded", "folded"]);
  const closing = database.close();
  await disk.sync();
  await disk.sync();
  await closing;
});

test("after a failed sync no half is overwritten: it may be the only copy on the disk", async () => {
  const path = newPath();
  let failing: Error | null = null;
  const { append, database, ends } = await open(path, {
    syncFile: (_file, callback) => setImmediate(callback, failing),
  });
  const long = "x".repeat(turnLogHalf / 2);
  for (const value of ["first", "1"]) expect(await append(value + long)).toBeUndefined();
  failing = new Error("the disk is gone");
  expect(await append(`2${long}`)).toBe(failing);
  failing = null;
  for (const value of ["3", "4", "5"]) await append(value + long);
  expect(ends).toEqual(["folded", "logged", "folded", "logged", "folded", "folded"]);
  await database.close();
});

test("with durability 'process' the log is synced by itself, and closing does not wait for the interval", async () => {
  const path = newPath();
  const synced: string[] = [];
  const { append, database, ends } = await open(path, {
    durability: "process",
    syncIntervalMs: 3_600_000,
    syncFile(file, callback) {
      synced.push(fstatSync(file).ino === statSync(`${path}-turns`).ino ? "log" : "tables");
      setImmediate(callback, null);
    },
  });
  for (const value of ["a", "b", "c"]) await append(value);
  expect(ends).toEqual(["folded", "logged", "logged"]);
  expect(synced).toEqual(["tables", "log"]);
  await database.close();
});

test("a log that was written before it had halves is read, and gone on with", async () => {
  const path = newPath();
  const { append, database } = await open(path);
  for (const value of ["a", "b", "c"]) await append(value);
  const left = leaveTurns(path, newPath());
  await database.close();
  // As the previous release left it: every epoch begins at the start of the file.
  const old = await openSqlite({ path: left, migrations: ["what the database itself needs"] });
  old.exec("ALTER TABLE turn_log DROP COLUMN start; DROP TABLE turn_log_unclaimed");
  old.exec("UPDATE component SET version = 1 WHERE name = 'turn_log'");
  old.close();

  const again = await open(left);
  expect(again.recovered).toEqual(["b", "c"]);
  for (const value of ["d", "e"]) expect(await again.append(value)).toBeUndefined();
  const twice = await open(leaveTurns(left, newPath()));
  expect(twice.rows()).toEqual(["a", "b", "c", "d", "e"]);
  await again.database.close();
  await twice.database.close();
});

test.each([
  ["process", "power"],
  ["power", "process"],
] as const)("a log that was written with durability %s is read with %s, and gone on with", async (before, after) => {
  const path = newPath();
  const { append, database } = await open(path, { durability: before });
  for (const value of ["a", "b", "c"]) await append(value);
  const left = leaveTurns(path, newPath());
  await database.close();
  const again = await open(left, { durability: after });
  expect(again.recovered).toEqual(["b", "c"]);
  for (const value of ["d", "e", "f"]) expect(await again.append(value)).toBeUndefined();
  const twice = await open(leaveTurns(left, newPath()), { durability: before });
  expect([twice.recovered, twice.rows()]).toEqual([
    ["e", "f"],
    ["a", "b", "c", "d", "e", "f"],
  ]);
  await again.database.close();
  await twice.database.close();
});

test("a failed sync of the log is reported to all turns that waited for it and to all later turns", async () => {
  const path = newPath();
  let failing: Error | null = null;
  const { append, database } = await open(path, { syncFile: (_file, callback) => setImmediate(callback, failing) });
  expect(await append("a")).toBeUndefined();
  failing = new Error("the disk is gone");
  expect(await append("b")).toBe(failing);
  failing = null;
  expect(await append("c")).toMatchObject({ message: "the disk is gone" });
  await database.close();
  // It may be the only place that has the turn.
  expect(existsSync(`${path}-turns`)).toBe(true);
});

test("a log that cannot be opened makes openLog throw", async () => {
  const path = newPath();
  mkdirSync(`${path}-turns`);
  await expect(open(path)).rejects.toThrow("-turns");
});

test("the log can be opened by a single owner", async () => {
  const { database } = await open(newPath());
  expect(() => database.openLog?.({ name: "test", recover() {}, fold() {}, ended() {} })).toThrow(
    'has an owner "test"',
  );
  await database.close();
});

test("a database in memory has no log", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  expect(database.openLog).toBeUndefined();
  await database.close();
});

/** A second owner of the log, whose records are also rows of its own. */
function openSecond(database: Database, failure?: Error) {
  database.migrate("second", ["CREATE TABLE second (value TEXT NOT NULL)"]);
  const insert = database.prepare("INSERT INTO second (value) VALUES (?)");
  const select = database.prepare("SELECT value FROM second ORDER BY rowid");
  let unfolded: string[] = [];
  let fresh: string[] = [];
  const log = database.openLog?.({
    name: "second",
    recover(record) {
      if (failure !== undefined) throw failure;
      unfolded.push(record);
    },
    fold() {
      for (const value of [...unfolded, ...fresh]) insert.run(value);
    },
    ended(how) {
      if (how === "folded") unfolded = [];
      if (how === "logged") unfolded.push(...fresh);
      fresh = [];
    },
  });
  return {
    append(value: string) {
      log?.append(value);
      fresh.push(value);
    },
    rows: () => [...select.all().map(({ value }) => String(value)), ...unfolded],
  };
}

test("owners that share the log get back their own records, each turn of both or of neither", async () => {
  const path = newPath();
  const { append, database, put } = await open(path);
  const second = openSecond(database);
  for (const value of ["a", "b", "c"]) {
    second.append(`${value}2`);
    await append(value);
  }
  second.append("lost2");
  put("lost, too");
  database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  await append("lost");

  const again = await open(leaveTurns(path, newPath()));
  expect(openSecond(again.database).rows()).toEqual(["a2", "b2", "c2"]);
  expect(again.rows()).toEqual(["a", "b", "c"]);
  await again.append("d");
  expect(again.rows()).toEqual(["a", "b", "c", "d"]);
  await again.database.close();
  await database.close();
});

test.each([false, true])(
  "records of an owner that does not open the log are kept for it (fails to recover: %s)",
  async (fails) => {
    const path = newPath();
    const { append, database } = await open(path);
    const second = openSecond(database);
    for (const value of ["a", "b", "c"]) {
      second.append(`${value}2`);
      await append(value);
    }
    const left = leaveTurns(path, newPath());
    await database.close();

    const without = await open(left);
    if (fails) expect(() => openSecond(without.database, new Error("what is this?"))).toThrow("what is this?");
    for (const value of ["d", "e"]) await without.append(value);
    const leftAgain = leaveTurns(left, newPath());
    await without.database.close();
    for (const last of [left, leftAgain]) {
      const again = await open(last);
      await again.append("f");
      const claimed = openSecond(again.database);
      expect(claimed.rows()).toEqual(["a2", "b2", "c2"]);
      claimed.append("g2");
      await again.append("g");
      await again.database.close();
      const once = await open(last);
      expect(openSecond(once.database).rows()).toEqual(["a2", "b2", "c2", "g2"]);
      expect(once.rows()).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
      await once.database.close();
    }
  },
);

test("records that an earlier release wrote without a name are those of the journal", async () => {
  const path = newPath();
  const { append, database } = await open(path, { name: "journal" });
  for (const value of ["a", "b"]) await append(value);
  const left = leaveTurns(path, newPath());
  await database.close();
  const file = readFileSync(`${left}-turns`);
  // The name of the owner is replaced by nothing: a frame of one byte less for each of its characters.
  const at = file.indexOf("journal\u001fb");
  const frame = Buffer.from("b");
  const header = file.subarray(at - 12, at);
  header.writeUInt32LE(frame.length, 4);
  header.writeUInt32LE(crc32(frame), 8);
  frame.copy(file, at);
  writeFileSync(`${left}-turns`, file);
  const again = await open(left, { name: "journal" });
  expect(again.rows()).toEqual(["a", "b"]);
  await again.database.close();
});
