// A database that an earlier release has written.
import { expect, test } from "vitest";
import type { SessionOrigin } from "../../host/ports/journal.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createSqlJournal } from "./sql-journal-store.ts";

/** The tables as they were before the age and the layers of sessions had columns of their own. */
const tablesOfVersion3 = [
  `CREATE TABLE session (id TEXT PRIMARY KEY, record TEXT NOT NULL, acknowledged INTEGER NOT NULL DEFAULT 0, last_seq INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
   CREATE TABLE session_line (id INTEGER PRIMARY KEY, session TEXT NOT NULL, last_seq INTEGER NOT NULL, acknowledged INTEGER NOT NULL, lines TEXT NOT NULL) STRICT;
   CREATE INDEX session_line_place ON session_line (session, last_seq);
   CREATE TABLE session_state (layer INTEGER NOT NULL, plugin TEXT NOT NULL, key TEXT NOT NULL, value TEXT, PRIMARY KEY (layer, plugin, key)) STRICT, WITHOUT ROWID;`,
  "SELECT 1",
  "SELECT 1",
];

const about = { principal: { id: "ada", isAuthenticated: true }, granted: ["counter"], dialect: "full" };

async function openOld() {
  const database = await createSqliteDatabase({ path: ":memory:" });
  database.migrate("session", tablesOfVersion3);
  const put = database.prepare("INSERT INTO session (id, record, acknowledged, last_seq) VALUES (?, ?, 0, 1)");
  const putState = database.prepare("INSERT INTO session_state VALUES (?, 'counter', ?, ?)");
  database.write(() => {
    put.run("parent", JSON.stringify({ ...about, createdAt: 10, lastActiveAt: 10, layers: [1, 2] }));
    const fork = { ...about, createdAt: 20, lastActiveAt: 20, layers: [1, 7], parent: "parent", ground: 1 };
    put.run("fork", JSON.stringify(fork));
    putState.run(1, "shared", "1");
    putState.run(2, "own", "2");
    database.prepare("INSERT INTO session_line VALUES (1, 'fork', 1, 0, ?)").run("a line");
  });
  const journal = createSqlJournal(database);
  const load = (id: string) => journal.load(id) as SessionOrigin | undefined;
  const stateOf = (id: string) => Object.fromEntries(load(id)?.states.get("counter")?.entries() ?? []);
  return { database, journal, load, stateOf };
}

test("sessions that an earlier release stored are recovered with their lines and their state", async () => {
  const { database, load, stateOf } = await openOld();
  const record = { ...about, createdAt: 20, lastActiveAt: 20, parent: "parent" };
  expect(load("fork")).toMatchObject({ record, lines: ["a line"], lastSeq: 1 });
  expect(stateOf("fork")).toEqual({ shared: 1 });
  expect(stateOf("parent")).toEqual({ shared: 1, own: 2 });
  await database.close();
});

test("such a session expires by its age, and a layer that a fork of it needs stays", async () => {
  const { database, journal, load, stateOf } = await openOld();
  expect(journal.forgetOlderThan(15, new Set())).toEqual(["parent"]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(load("parent")).toBeUndefined();
  expect(stateOf("fork")).toEqual({ shared: 1 });
  expect(database.prepare("SELECT layer FROM session_state").all()).toEqual([{ layer: 1 }]);
  expect(database.prepare("SELECT * FROM session_layer").all()).toEqual([
    { layer: 1, below: 0 },
    { layer: 7, below: 1 },
  ]);
  await database.close();
});

test("a new session gets a layer that no stored session has, not even an empty one", async () => {
  const { database, journal } = await openOld();
  const principal = { id: "token", agentId: "ada", isAuthenticated: true };
  const record = { ...about, principal, dialect: "full" as const, createdAt: 30, lastActiveAt: 30 };
  journal.open({ id: "new", readRecord: () => record, released() {}, lost() {} }).touch();
  await new Promise((resolve) => setImmediate(resolve));
  expect(database.prepare("SELECT max(layer) AS layer FROM session_layer").get()).toEqual({ layer: 8 });
  await database.close();
});
