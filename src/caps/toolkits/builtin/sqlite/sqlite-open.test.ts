// The files that the sqlite toolkit opens and creates.
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../../stores/temporary-folder.suite.ts";
import { openDatabase } from "./sqlite-open.ts";
import { makeDatabase, peopleSchema, query, startSqlite } from "./start-sqlite.suite.ts";

const newFolder = useTemporaryFolder();

test.each(["../outside.db", "/etc/passwd", "link.db", "linked/outside.db", "missing.db", ".", "people.db/x"])(
  "%j is not accepted as a database of the workspace",
  async (path) => {
    await using host = await startSqlite();
    mkdirSync(host.workspaceDir, { recursive: true });
    makeDatabase(join(host.folder, "outside.db"));
    symlinkSync(join(host.folder, "outside.db"), join(host.workspaceDir, "link.db"));
    symlinkSync(host.folder, join(host.workspaceDir, "linked"));
    expect(await host.configure("sqlite", { path })).toMatchObject({ status: "partial" });
    expect(await host.toolNames()).toEqual([]);
  },
);

test("a file that is not a database is reported without its path", async () => {
  await using host = await startSqlite();
  mkdirSync(host.workspaceDir, { recursive: true });
  writeFileSync(
    join(host.workspaceDir, "text.db"),
    "plain text, much longer than a header of SQLite would be\n".repeat(20),
  );
  await host.configure("sqlite", { path: "text.db" });
  const error = await query(host, "SELECT 1").catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "tool_error", message: expect.stringContaining("not a database") });
  expect((error as Error).message).not.toContain(host.folder);
  expect(readFileSync(join(host.workspaceDir, "text.db"), "utf8")).toContain("plain text");
});

test("a path that is replaced by a link after the check is not followed", async () => {
  await using host = await startSqlite();
  mkdirSync(join(host.workspaceDir, "data"), { recursive: true });
  makeDatabase(join(host.workspaceDir, "data", "a.db"));
  makeDatabase(join(host.folder, "a.db"), "CREATE TABLE secret (a)");
  await host.configure("sqlite", { path: "data/a.db" });
  renameSync(join(host.workspaceDir, "data"), join(host.workspaceDir, "moved"));
  symlinkSync(host.folder, join(host.workspaceDir, "data"));
  await expect(query(host, "SELECT * FROM secret")).rejects.toThrow("changed while it was opened");
});

test("a database in a folder of the operator can be read if that is allowed", async () => {
  await using outside = await startSqlite();
  mkdirSync(outside.workspaceDir, { recursive: true });
  makeDatabase(join(outside.workspaceDir, "theirs.db"));
  const path = join(outside.workspaceDir, "theirs.db");
  await using host = await startSqlite({ allow_write: true }, [outside.workspaceDir]);
  await host.configure("sqlite", { path });
  expect(await query(host, "SELECT count(*) FROM person")).toMatchObject({ rows: [[3]] });
  expect(
    await host.kits.install({ toolkit_name: "sqlite", alias: "w", config: { path, writable: true } }),
  ).toMatchObject({
    status: "partial",
    error: expect.stringContaining("is read-only"),
  });
});

test("reading a database in WAL mode leaves no files beside it, and sees the commits of a writer", async () => {
  const outside = newFolder();
  const path = join(outside, "wal.db");
  makeDatabase(path, `PRAGMA journal_mode = WAL; ${peopleSchema}`);
  await using host = await startSqlite({}, [outside]);
  await host.configure("sqlite", { path });
  const count = async () => (await query(host, "SELECT count(*) FROM person")) as { rows: number[][] };

  expect(await count()).toMatchObject({ rows: [[3]] });
  expect(readdirSync(outside)).toEqual(["wal.db"]);

  const writer = new DatabaseSync(path);
  writer.exec("INSERT INTO person (name) VALUES ('Alan')");
  expect(await count()).toMatchObject({ rows: [[4]] });
  writer.close();
  expect(await count()).toMatchObject({ rows: [[4]] });
});

test("a write during a query on an idle WAL database is reported as an error", () => {
  const path = join(newFolder(), "a.db");
  makeDatabase(path, `PRAGMA journal_mode = WAL; ${peopleSchema}`);
  const job = { path, isWritable: false, busyMs: 100, memoryMb: 64, maxSqlLength: 1000 };
  const { database, checkUnchanged } = openDatabase(job);
  checkUnchanged();
  const writer = new DatabaseSync(path);
  writer.exec("DELETE FROM person");
  expect(checkUnchanged).toThrow("try again");
  writer.close();
  expect(checkUnchanged).toThrow("try again");
  database.close();
});
