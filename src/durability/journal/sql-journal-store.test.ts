import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Journal, SessionJournal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { Database } from "../../plugin/ports/database.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { createSqlJournal } from "./sql-journal-store.ts";

const record: SessionRecord = {
  principal: { id: "token", agentId: "ada", isAuthenticated: true },
  granted: ["counter"],
  dialect: "full",
  createdAt: 1,
  lastActiveAt: 2,
};

let database: Database;
let journal: Journal;
let released: { lines: readonly string[]; error: Error | undefined }[];

beforeEach(async () => {
  database = await createSqliteDatabase({ path: ":memory:" });
  journal = createSqlJournal(database);
  released = [];
});

afterEach(() => database.close());

function open(id: string, origin?: SessionOrigin): { entry: SessionJournal; state: LayeredState } {
  const entry = journal.open(
    {
      id,
      readRecord: () => record,
      released: (lines) => void released.push({ lines, error: undefined }),
      lost: (error) => void released.push({ lines: [], error }),
    },
    origin,
  );
  const state = new LayeredState();
  entry.track("counter", state);
  return { entry, state };
}

function fork(parent: SessionJournal, id: string) {
  return open(id, { record, states: new Map(), lines: [], lastSeq: 0, acknowledged: 0, forkOf: parent });
}

async function load(id: string): Promise<SessionOrigin | undefined> {
  return journal.load(id);
}

function failWith(message: string): never {
  throw new Error(message);
}

/** Waits for the commit of this turn. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const layersOf = (id: string) =>
  database
    .prepare(
      "SELECT one.value AS layer FROM session, json_each(session.record, '$.layers') AS one WHERE session.id = ?",
    )
    .all(id)
    .map(({ layer }) => Number(layer));
const rowsOf = (layer = 0) =>
  database.prepare("SELECT count(*) AS count FROM session_state WHERE layer = ?").get(layer)?.count;

test("the lines of a turn are released together, and come back with their numbers and what was acknowledged", async () => {
  const { entry } = open("one");
  entry.lines.append("a");
  entry.lines.append("b");
  expect(released).toEqual([]);
  await turn();
  entry.lines.acknowledge(1);
  entry.lines.append("c");
  await turn();

  expect(released.map(({ lines }) => lines)).toEqual([["a", "b"], ["c"]]);
  expect(await load("one")).toMatchObject({ lines: ["a", "b", "c"], lastSeq: 3, acknowledged: 1 });
});

test("lines whose turn cannot be written are reported and not stored", async () => {
  const { entry, state } = open("one");
  entry.touch();
  await turn();
  entry.lines.append("a");
  state.setLive("broken", () => {
    throw new Error("no value");
  });
  await turn();
  await turn();

  expect(released).toEqual([{ lines: [], error: expect.objectContaining({ message: "no value" }) }]);
  expect(await load("one")).toMatchObject({ lines: [], lastSeq: 0 });
});

test("however often a session is forked, it stands on as many layers as it changed between forks", async () => {
  const { entry, state } = open("parent");
  state.set("count", 1);
  for (let index = 0; index < 5; index++) fork(entry, `fork ${index}`);
  await turn();
  expect(layersOf("parent")).toHaveLength(2);
  expect(layersOf("fork 4").slice(0, -1)).toEqual(layersOf("parent").slice(0, -1));

  state.set("count", 2);
  fork(entry, "late");
  await turn();
  expect(layersOf("parent")).toHaveLength(3);
});

test("a layer goes with the last session that stands on it, also where others were stored by an earlier host", async () => {
  const { entry, state } = open("parent");
  state.set("count", 1);
  fork(entry, "fork");
  await turn();
  const [shared] = layersOf("parent");
  expect(rowsOf(shared)).toBe(1);

  entry.forget();
  await turn();
  expect(rowsOf(shared)).toBe(1);
  journal = createSqlJournal(database);
  const recovered = open("fork", await load("fork"));
  recovered.entry.forget();
  await turn();
  expect(rowsOf(shared)).toBe(0);
});

test("state that was lost without a line is told as well, and nothing follows it", async () => {
  const { entry, state } = open("one");
  entry.touch();
  await turn();
  state.set("count", 1);
  database.beforeCommit((error) => {
    if (error === undefined) throw new Error("disk full");
  });
  await turn();
  expect(released).toEqual([{ lines: [], error: expect.objectContaining({ message: "disk full" }) }]);

  state.set("count", 2);
  entry.lines.append("an answer that builds on it");
  await turn();
  expect(await load("one")).toMatchObject({ lines: [], lastSeq: 0 });
  expect([...((await load("one"))?.states ?? [])]).toEqual([]);
});

test("a key that came and went leaves no row, unless it hides one of a layer below", async () => {
  const { entry, state } = open("one");
  state.set("gone", 1);
  state.set("kept", 1);
  await turn();
  state.delete("gone");
  await turn();
  expect(rowsOf(layersOf("one")[0])).toBe(1);

  const forked = fork(entry, "two");
  await turn();
  forked.state.set("kept", 2);
  forked.state.delete("kept");
  await turn();
  expect(rowsOf(layersOf("two").at(-1))).toBe(1);
  expect((await load("two"))?.states.get("counter")?.get("kept")).toBeUndefined();
});

test("a database that cannot begin loses the turn as one that cannot commit does: told later, to each, and nothing is thrown", async () => {
  await turn();
  const locked: Database = {
    ...database,
    prepare: (sql) => database.prepare(sql),
    migrate: (component, migrations) => database.migrate(component, migrations),
    beforeCommit() {
      throw new Error("database is locked");
    },
  };
  journal = createSqlJournal(locked);
  const { entry, state } = open("one");
  entry.lines.append("a");
  state.set("count", 1);
  entry.lines.append("b");
  let isSettled = false;
  entry.lines.committed(() => {
    isSettled = true;
  });
  expect(released).toEqual([]);
  await turn();
  expect(released).toEqual([{ lines: [], error: expect.objectContaining({ message: "database is locked" }) }]);
  expect(isSettled).toBe(true);
});

test.each([
  ["that throws", (state: LayeredState) => state.setLive("key", () => failWith("no JSON form"))],
  ["without a key", (state: LayeredState) => state.set(undefined as never, 1)],
  ["that is no JSON", (state: LayeredState) => state.set("key", (() => {}) as never)],
])("a state %s costs its own session and no other", async (_what, breakState) => {
  const broken = open("broken");
  const sound = open("sound");
  breakState(broken.state);
  broken.entry.lines.append("lost");
  sound.state.set("key", 1);
  sound.entry.lines.append("kept");
  let isSettled = false;
  broken.entry.lines.committed(() => {
    isSettled = true;
  });
  await turn();
  await turn();

  expect(released).toContainEqual({ lines: ["kept"], error: undefined });
  const error = expect.objectContaining({ message: expect.stringContaining("JSON form") });
  expect(released).toContainEqual({ lines: [], error });
  expect(await load("sound")).toMatchObject({ lines: ["kept"] });
  expect(await load("broken")).toBeUndefined();
  expect(isSettled).toBe(true);
});

test.each([
  ["lines", { maxOutboundLines: 3000, maxOutboundBytes: 1e9 }],
  ["bytes", { maxOutboundLines: 1e9, maxOutboundBytes: 300_000 }],
])("what a peer never says it has is kept as long as it could still be sent, and no longer: %s", async (_, limits) => {
  journal = createSqlJournal(database, { ...defaultLimits, ...limits });
  const { entry } = open("one");
  const line = "x".repeat(100);
  for (let count = 0; count < 300; count++) {
    for (let added = 0; added < 100; added++) entry.lines.append(line);
    await turn();
  }

  const stored = await load("one");
  expect(stored).toMatchObject({ lastSeq: 30_000 });
  const unread = 30_000 - (stored?.acknowledged ?? 0);
  expect(unread).toBeGreaterThanOrEqual(3000);
  expect(unread).toBeLessThan(7000);
  expect(stored?.lines.length).toBeLessThan(10_000);
});

test.each([":memory:", "file"])(
  "of what a peer has, no more bytes are kept than answers are remembered: %s",
  async (where) => {
    const folder = await mkdtemp(join(tmpdir(), "a2e-journal-"));
    const path = where === "file" ? join(folder, "a2e.sqlite") : where;
    await database.close();
    database = await createSqliteDatabase({ path });
    journal = createSqlJournal(database, { ...defaultLimits, maxRememberedBytes: 1_000_000 });
    const { entry } = open("one");
    for (let count = 1; count <= 400; count++) {
      entry.lines.append("x".repeat(100_000));
      await turn();
      await vi.waitFor(() => expect(released).toHaveLength(count), { interval: 1 });
      entry.lines.acknowledge(count);
    }

    const kept = (await load("one"))?.lines.length;
    expect(kept).toBeGreaterThanOrEqual(10);
    expect(kept).toBeLessThan(40);
    await database.close();
    await rm(folder, { recursive: true });
  },
);
