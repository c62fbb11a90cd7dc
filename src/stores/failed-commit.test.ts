// SQLite may report that a commit failed although it took place. Its records must then not be folded into tables again.
import { expect, test, vi } from "vitest";
import { leaveTurns, openTurns } from "./sqlite/opened-turns.suite.ts";
import { useTemporaryFolder } from "./temporary-folder.suite.ts";

const newPath = useTemporaryFolder();

/** The error that the next commit throws, and whether the commit takes place nevertheless. */
let failure: { error: Error; isDone: boolean } | undefined;

vi.mock(import("./sqlite/sqlite.ts"), async (importOriginal) => {
  const original = await importOriginal();
  return {
    ...original,
    async openSqlite(options) {
      const sqlite = await original.openSqlite(options);
      return {
        ...sqlite,
        exec(sql) {
          const failing = sql === "COMMIT" ? failure : undefined;
          if (failing === undefined) return sqlite.exec(sql);
          failure = undefined;
          if (failing.isDone) sqlite.exec(sql);
          throw failing.error;
        },
      };
    },
  };
});

test.each([
  { isDone: true, kept: ["a", "b", "c", "d", "e"] },
  { isDone: false, kept: ["a", "b", "d", "e"] },
])("a commit that fails and took place ($isDone) leaves everything once", async ({ isDone, kept }) => {
  const path = newPath();
  let syncs = 0;
  const { database, append, rows } = await openTurns(path, {
    syncFile(_file, callback) {
      syncs += 1;
      setImmediate(callback, null);
    },
  });
  for (const value of ["a", "b"]) expect(await append(value)).toBeUndefined();
  failure = { error: new Error("the disk is gone"), isDone };
  // With a table in it, so that it is a commit that takes the log with it.
  database.write(() => {});
  const syncsBefore = syncs;
  expect(await append("c")).toMatchObject({ message: expect.stringContaining("the disk is gone") });
  // Rows that are in tables have to be synced, even if their commit reported an error.
  expect(syncs - syncsBefore).toBe(isDone ? 1 : 0);
  for (const value of ["d", "e"]) expect(await append(value)).toBeUndefined();
  expect(rows()).toEqual(kept);

  const again = await openTurns(leaveTurns(path, newPath()));
  expect(again.rows()).toEqual(kept);
  await again.database.close();
  await database.close();
});
