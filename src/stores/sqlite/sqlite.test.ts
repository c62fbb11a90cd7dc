import { statSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { notWindows, testWith } from "../../testing/needs.suite.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { openSqlite } from "./sqlite.ts";

const newPlace = useTemporaryFolder();

afterEach(() => {
  vi.unstubAllGlobals();
});

test("a database is opened in WAL mode with every commit synced", async () => {
  const database = await openSqlite({ path: newPlace(), migrations: [], busyTimeoutMs: 1234 });

  expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
  expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: 2 });
  expect(database.prepare("PRAGMA busy_timeout").get()).toMatchObject({ timeout: 1234 });
  database.close();
});

testWith(notWindows)("only the user of the host can read the files", async () => {
  const path = newPlace();
  const database = await openSqlite({ path, migrations: ["CREATE TABLE notes (text TEXT)"] });

  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o077, file).toBe(0);
  database.close();
});

test("an older schema is brought up to date, step by step, and keeps its rows", async () => {
  const path = newPlace();
  const first = ["CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('kept')"];
  const old = await openSqlite({ path, migrations: first });
  old.close();

  const migrations = [...first, "ALTER TABLE notes ADD COLUMN stars INTEGER", "UPDATE notes SET stars = 5"];
  const database = await openSqlite({ path, migrations });

  expect({ ...database.prepare("SELECT * FROM notes").get() }).toEqual({ text: "kept", stars: 5 });
  expect(database.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: 3 });
  database.close();
});

test("a migration that fails changes no table", async () => {
  const path = newPlace();
  await expect(openSqlite({ path, migrations: ["CREATE TABLE notes (text TEXT)", "nonsense"] })).rejects.toThrow(
    `database ${path} failed`,
  );

  const database = await openSqlite({ path, migrations: [] });
  expect(database.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()).toMatchObject({ tables: 0 });
  expect(database.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: 0 });
  database.close();
});

test.each([
  ["no `process.getBuiltinModule`, as in Node 21", undefined],
  ["no SQLite of its own", () => undefined],
])("with %s, the package is used", async (_, getBuiltinModule) => {
  vi.stubGlobal("process", Object.create(process, { getBuiltinModule: { value: getBuiltinModule } }));
  const database = await openSqlite({ path: ":memory:", migrations: [] });

  expect(database.prepare("SELECT 6 * 7 AS answer").get()).toMatchObject({ answer: 42 });
  database.close();
});

test("the experimental warning of the built-in SQLite is suppressed, and other warnings are emitted", async () => {
  const warnings: string[] = [];
  const emitWarning = (text: string) => void warnings.push(text);
  const getBuiltinModule = () => process.emitWarning("SQLite is an experimental feature", "ExperimentalWarning");
  vi.stubGlobal(
    "process",
    Object.create(process, {
      emitWarning: { value: emitWarning, writable: true },
      getBuiltinModule: { value: getBuiltinModule },
    }),
  );
  const database = await openSqlite({ path: ":memory:", migrations: [] });
  process.emitWarning("something else");

  expect(warnings).toEqual(["something else"]);
  database.close();
});

test("a path that is a folder is reported by name", async () => {
  const folder = newPlace();
  const database = await openSqlite({ path: `${folder}/inner.db`, migrations: [] });
  database.close();

  await expect(openSqlite({ path: folder, migrations: [] })).rejects.toThrow(`database ${folder} failed`);
});
