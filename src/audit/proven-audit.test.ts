import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../plugin/logger.ts";
import type { Database } from "../plugin/ports/database.ts";
import { openCheckpoint } from "../proofs/checkpoint-text.ts";
import { isConsistent } from "../proofs/merkle.ts";
import { leaveTurns } from "../stores/sqlite/opened-turns.suite.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { linesOf } from "./audit-block.ts";
import { newestBlocks } from "./prove.ts";
import { ProvenAudit, type ProvenAuditOptions } from "./proven-audit.ts";
import { TileFolder } from "./tiles.ts";
import { sha256 } from "./tree.ts";
import { verifyLog } from "./verify.ts";
import { testSigner } from "./written-log.suite.ts";

const newPath = useTemporaryFolder();

interface OpenedAudit {
  audit: ProvenAudit<string>;
  database: Database;
  path: string;
  databasePath: string;
  /** Records entries in one turn; resolves when it has ended. */
  turn(...ids: string[]): Promise<Error | undefined>;
  /** The ids in the signed log, oldest first; a remark is in brackets. */
  ids(): string[];
}

type Options = Partial<ProvenAuditOptions<string>> & { databasePath?: string; isNew?: boolean; isInMemory?: boolean };

const writeLine = (id: string, target: Buffer, offset: number): number => {
  const line = `{"ts":${1_700_000_000}.000,"req_id":${JSON.stringify(id)}}\n`;
  return offset + line.length > target.length ? -line.length : offset + target.write(line, offset, "latin1");
};

async function open({ isNew = true, isInMemory = false, ...options }: Options = {}): Promise<OpenedAudit> {
  const databasePath = isInMemory ? ":memory:" : (options.databasePath ?? newPath());
  const database = await createSqliteDatabase({ path: databasePath, durability: "process" });
  onTestFinished(() => database.close());
  const path = options.path ?? newPath();
  const audit = new ProvenAudit<string>({
    database,
    path,
    key: { signer: testSigner, isNew },
    writeLine,
    clock: () => 1_700_000_000_000,
    log: silentLogger,
    checkpointMs: 3_600_000,
    ...options,
  });
  await settle(database);
  return {
    audit,
    database,
    path,
    databasePath,
    turn(...ids) {
      for (const id of ids) audit.record(id);
      return settle(database);
    },
    ids() {
      const folder = new TileFolder(path);
      const blocks = [...newestBlocks(folder, audit.checkpoint.size)].reverse();
      return blocks.flatMap(({ entry }) => linesOf(entry).map(toId));
    },
  };
}

function settle(database: Database): Promise<Error | undefined> {
  return new Promise((resolve) => database.afterCommit(resolve));
}

function toId(line: string): string {
  const { req_id, audit } = JSON.parse(line) as { req_id?: string; audit?: string };
  return req_id ?? `[${audit}]`;
}

/** Copies the data as a kill leaves it. */
function leave({ databasePath, path }: OpenedAudit) {
  const left = { databasePath: leaveTurns(databasePath, newPath()), path: newPath(), isNew: false };
  mkdirSync(path, { recursive: true });
  cpSync(path, left.path, { recursive: true });
  return left;
}

test("the entries of a turn are one block, and a checkpoint is signed over them", async () => {
  const { audit, turn, ids, path } = await open();
  await turn("a", "b", "c");
  await turn("d");
  await audit.sign();
  expect(ids()).toEqual(["[began]", "a", "b", "c", "d"]);
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ size: 3, lines: 5 });
});

test("after a kill, entries that were not in the folder yet are there, each once and in order", async () => {
  const first = await open();
  await first.turn("a");
  await first.audit.sign();
  for (const id of ["b", "c", "d"]) await first.turn(id);
  const again = await open(leave(first));
  await again.turn("e");
  await again.audit.sign();
  expect(again.ids()).toEqual(["[began]", "a", "b", "c", "d", "e"]);
  const twice = await open(leave(again));
  await twice.audit.close();
  expect(twice.ids()).toEqual(["[began]", "a", "b", "c", "d", "e"]);
  expect(verifyLog(twice.path, testSigner.verify, [first.audit.checkpoint.note])).toMatchObject({ anchoredAt: 2 });
});

test("closed in order, everything is signed, and the next start has nothing to add", async () => {
  const first = await open();
  await first.turn("a", "b");
  first.audit.record("in the last turn");
  await first.audit.close();
  await first.audit.close();
  await first.database.close();
  expect(first.ids()).toEqual(["[began]", "a", "b", "in the last turn"]);
  const again = await open({ databasePath: first.databasePath, path: first.path, isNew: false });
  expect(again.audit.checkpoint).toEqual(first.audit.checkpoint);
  await again.audit.close();
  expect(again.audit.checkpoint).toEqual(first.audit.checkpoint);
});

test("a turn that is lost leaves no entry, and the next turn takes its place", async () => {
  const { audit, database, turn, ids } = await open();
  await turn("a");
  database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  expect(await turn("lost")).toMatchObject({ message: "disk full" });
  await turn("b");
  await audit.sign();
  expect(ids()).toEqual(["[began]", "a", "b"]);
});

test("a turn whose entries cannot be written is lost", async () => {
  const { audit, turn, ids } = await open();
  expect(await turn("x".repeat(65_536))).toMatchObject({ message: expect.stringContaining("a block takes 65535") });
  expect(await turn("a")).toBeUndefined();
  await audit.sign();
  expect(ids()).toEqual(["[began]", "a"]);
});

test("turns are lost while the folder cannot be written and too many entries wait, and work again afterwards", async () => {
  const path = newPath();
  const { audit, turn, ids } = await open({ path, maxPendingBytes: 160 });
  mkdirSync(path);
  writeFileSync(`${path}/tile`, "not a folder");
  for (const id of ["a", "b", "c", "d"]) expect(await turn(id)).toBeUndefined();
  await expect(audit.sign()).rejects.toThrow();
  expect(await turn("refused")).toMatchObject({ message: expect.stringContaining("cannot be written") });
  rmSync(`${path}/tile`);
  await audit.sign();
  await turn("e");
  await audit.sign();
  expect(ids()).toEqual(["[began]", "a", "b", "c", "d", "e"]);
});

test("a large turn has several blocks of at most 65,535 bytes", async () => {
  const { audit, turn, ids, path } = await open();
  const names = Array.from({ length: 5000 }, (_, index) => `${index}`);
  await turn(...names);
  await audit.sign();
  expect(ids()).toEqual(["[began]", ...names]);
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ lines: 5001, size: 4 });
});

test("turns that write to tables, or a database without a log of turns, keep the entries as rows", async () => {
  const first = await open();
  first.database.migrate("test", ["CREATE TABLE kept (value TEXT)"]);
  const insert = first.database.prepare("INSERT INTO kept (value) VALUES (?)");
  for (const id of ["a", "b", "c"]) {
    if (id !== "b") first.database.write(() => void insert.run(id));
    await first.turn(id);
  }
  const again = await open(leave(first));
  await again.audit.sign();
  expect(again.ids()).toEqual(["[began]", "a", "b", "c"]);

  const inMemory = await open({ isInMemory: true });
  await inMemory.turn("a");
  inMemory.database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  await inMemory.turn("lost");
  await inMemory.turn("b");
  await inMemory.audit.sign();
  expect(inMemory.ids()).toEqual(["[began]", "a", "b"]);
});

test("if a power cut has undone turns below a signed checkpoint, the log says which entries tell of them", async () => {
  const first = await open();
  await first.turn("a");
  const left = leave(first);
  await first.turn("b");
  await first.turn("c");
  const note = await first.audit.sign();
  // The folder was synced before the checkpoint was signed; the database was not.
  const again = await open({ ...left, path: first.path });
  await again.turn("d");
  await again.audit.sign();
  expect(again.ids()).toEqual(["[began]", "a", "b", "c", "[lost]", "d"]);
  const report = verifyLog(first.path, testSigner.verify, [note]);
  expect(report).not.toHaveProperty("damage");
  expect(report.remarks.at(-1)).toEqual({ audit: "lost", ts: 1_700_000_000, from: 2, to: 4 });
});

test("a folder that is older than the database is refused, unless the key is new, too", async () => {
  const first = await open();
  await first.turn("a");
  await first.audit.close();
  await first.database.close();
  const left = { databasePath: first.databasePath, path: newPath() };
  await expect(open({ ...left, isNew: false })).rejects.toThrow("has 0 entries, but 2 were written to it");
  const again = await open({ ...left, isNew: true });
  await again.turn("b");
  await again.audit.sign();
  expect(again.ids()).toEqual(["[began]", "b"]);
  expect(verifyLog(again.path, testSigner.verify).remarks).toEqual([
    { audit: "began", ts: 1_700_000_000, previous: 2 },
  ]);
});

test("each checkpoint is proven to continue an older one, and a checkpoint is signed after a while", async () => {
  const notes: string[] = [];
  const { audit, turn } = await open({ checkpointMs: 1, onCheckpoint: (note) => void notes.push(note) });
  for (const id of ["a", "b", "c"]) {
    const count = notes.length;
    await turn(id);
    await expect.poll(() => notes.length).toBeGreaterThan(count);
  }
  const newest = openCheckpoint(audit.checkpoint.note, testSigner.verify);
  for (const note of notes) {
    const older = openCheckpoint(note, testSigner.verify);
    if (older === undefined || newest === undefined) throw new Error("not signed");
    expect(isConsistent(sha256, older, newest, audit.proveConsistency(older.size))).toBe(true);
  }
  await audit.close();
});

test("old entries are deleted after the log has announced it", async () => {
  const { audit, turn, path } = await open({ retention: { entries: 300 } });
  const anchors: string[] = [];
  for (let index = 0; index < 1000; index++) {
    await turn(`${index}`);
    if (index % 250 === 0) anchors.push(await audit.sign());
  }
  await audit.sign();
  await turn("last");
  await audit.sign();
  await turn("after the announcement");
  const note = await audit.sign();
  const report = verifyLog(path, testSigner.verify, [...anchors, note]);
  expect(report).not.toHaveProperty("damage");
  expect(report.minimum).toBe(512);
  await audit.close();
});

test("entries of the last days are kept", async () => {
  let now = 1_700_000_000_000;
  const { audit, turn, path } = await open({ retention: { days: 2 }, clock: () => now });
  for (let index = 0; index < 600; index++) await turn(`${index}`);
  await audit.sign();
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ minimum: 0 });
  now += 3 * 24 * 3600 * 1000;
  for (let index = 0; index < 300; index++) await turn(`${index}`);
  for (let round = 0; round < 2; round++) {
    await audit.sign();
    await turn("more");
  }
  await audit.sign();
  expect(verifyLog(path, testSigner.verify)).toMatchObject({ minimum: 768 });
  expect(verifyLog(path, testSigner.verify)).not.toHaveProperty("damage");
});
