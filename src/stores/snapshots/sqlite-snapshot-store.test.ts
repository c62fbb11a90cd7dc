import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { testKilledProcess } from "../killed-process.suite.ts";
import { openSqlite } from "../sqlite/sqlite.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { testSnapshotStore } from "./snapshot-store.suite.ts";
import { createSqliteSnapshotStore } from "./sqlite-snapshot-store.ts";

const newPlace = useTemporaryFolder();
const open = (place: string) => createSqliteSnapshotStore({ path: `${place}/snapshots.db` });
const about = { label: "a label", created_at: 1 };

testSnapshotStore("sqlite snapshot store", { open, newPlace, isPersistent: true });
testKilledProcess("sqlite snapshot store", {
  open,
  newPlace,
  module: new URL("./sqlite-snapshot-store.ts", import.meta.url),
  openInChild: 'store.createSqliteSnapshotStore({ path: place + "/snapshots.db" })',
});

test("a file that is not a database is named in the error, with advice", async () => {
  const path = newPlace();
  writeFileSync(path, "garbage".repeat(1000));

  await expect(createSqliteSnapshotStore({ path })).rejects.toThrow(
    `database ${path} is damaged or not a SQLite database: move it away together with`,
  );
  expect(readFileSync(path, "utf8")).toBe("garbage".repeat(1000));
});

test("damage found while reading is reported with the name of the file", async () => {
  const path = newPlace();
  const store = await createSqliteSnapshotStore({ path });
  for (let count = 0; count < 50; count++) await store.save(`session ${count}`, "x".repeat(2000), about);
  await store.close();
  const pages = readFileSync(path);
  // The first page stays, so the file still opens.
  const damaged = newPlace();
  writeFileSync(damaged, pages.fill(0xff, 4096));

  const reopened = await createSqliteSnapshotStore({ path: damaged });
  await expect(reopened.load("session 1")).rejects.toThrow(`database ${damaged} is damaged`);
  await reopened.close();
});

test("a state that was altered is reported with its id, and does not hide the others", async () => {
  const path = newPlace();
  const store = await createSqliteSnapshotStore({ path });
  const older = await store.save("session", "older", about);
  const newer = await store.save("session", "newer", about);
  const database = await openSqlite({ path, migrations: [""] });
  database.exec(`UPDATE snapshots SET state_json = '"other"' WHERE number = ${Number(newer.snapshot_id)}`);
  database.close();

  await expect(store.load("session")).rejects.toThrow(`snapshot ${newer.snapshot_id} in ${path} is damaged`);
  expect(await store.list("session")).toEqual([newer, older]);
  expect((await store.load("session", older.snapshot_id))?.state).toBe("older");
  await store.close();
});

test("a database of a newer release is refused and left as it is", async () => {
  const path = newPlace();
  const newer = await openSqlite({ path, migrations: ["CREATE TABLE a (x)", "CREATE TABLE b (x)"] });
  newer.close();

  await expect(createSqliteSnapshotStore({ path })).rejects.toThrow("schema version 2, written by a newer release");
  const again = await openSqlite({ path, migrations: ["", ""] });
  expect(again.prepare("SELECT count(*) AS tables FROM sqlite_schema").get()).toMatchObject({ tables: 2 });
  again.close();
});

test("a closed database is complete in its single file", async () => {
  const path = newPlace();
  const store = await createSqliteSnapshotStore({ path });
  const saved = await store.save("session", { count: 1 }, about);
  await store.close();
  const copy = newPlace();
  copyFileSync(path, copy);

  const copied = await createSqliteSnapshotStore({ path: copy });
  expect(await copied.load("session")).toEqual({ info: saved, state: { count: 1 } });
  await copied.close();
});
