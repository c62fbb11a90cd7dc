// Whatever sessions say, change and forget, in whatever order: what a killed host leaves is what it had told.
import { copyFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Journal, SessionJournal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { Database } from "../../plugin/ports/database.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { createSqlJournal } from "./sql-journal-store.ts";

const newPath = useTemporaryFolder();

const record: SessionRecord = {
  principal: { id: "token", agentId: "ada", isAuthenticated: true },
  granted: ["counter"],
  dialect: "full",
  createdAt: 1,
  lastActiveAt: 2,
};

/** What a session is expected to come back with. */
interface Told {
  lines: string[];
  acknowledged: number;
  state: Record<string, JsonValue>;
}

interface Live {
  entry: SessionJournal;
  state: LayeredState;
  lines: string[];
  acknowledged: number;
}

/** As many as are kept though they were acknowledged. */
const keptLines = 1024;

class Host {
  readonly live = new Map<string, Live>();
  told = new Map<string, Told>();
  #path: string;
  #database!: Database;
  #journal!: Journal;
  #others = 0;
  readonly #forgotten: string[] = [];
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async start(): Promise<void> {
    this.#database = await createSqliteDatabase({ path: this.#path, durability: "process" });
    this.#database.migrate("other", ["CREATE TABLE other (value INTEGER)"]);
    this.#journal = createSqlJournal(this.#database);
    this.#others = this.#countOthers();
  }

  async stop(): Promise<void> {
    await this.#database.close();
  }

  /** Closed in order, tables have everything; and no row of a layer that nobody stands on. */
  async checkTables(): Promise<void> {
    await this.stop();
    await this.start();
    this.#check();
    const used = "SELECT one.value FROM session, json_each(session.record, '$.layers') AS one";
    for (const table of ["session_state", "session_layer"])
      expect(this.#database.prepare(`SELECT layer FROM ${table} WHERE layer NOT IN (${used})`).all()).toEqual([]);
    expect(this.#database.prepare(`${used} WHERE one.value NOT IN (SELECT layer FROM session_layer)`).all()).toEqual(
      [],
    );
    await this.stop();
  }

  open(id: string, origin?: SessionOrigin, lines: string[] = []): Live {
    const { states, acknowledged = 0 } = origin ?? {};
    const state = states?.get("counter") ?? new LayeredState();
    const session = {
      id,
      readRecord: () => record,
      released() {},
      lost: (error: Error) => expect(error).toBeUndefined(),
    };
    const entry = this.#journal.open(session, origin);
    entry.track("counter", state);
    entry.touch();
    const live = { entry, state, lines, acknowledged };
    this.live.set(id, live);
    return live;
  }

  say({ entry, lines }: Live, count: number): void {
    for (let said = 0; said < count; said++) {
      const line = `{"line":${lines.length}}`;
      entry.lines.append(line);
      lines.push(line);
    }
  }

  /** The peer has all that it was told. Written with the next line. */
  acknowledge(id: string, live: Live): void {
    const seq = this.told.get(id)?.lines.length ?? 0;
    live.entry.lines.acknowledge(seq);
    live.acknowledged = seq;
  }

  fork({ entry, state }: Live): void {
    this.#count += 1;
    const states = new Map([["counter", state.fork()]]);
    this.open(`fork ${this.#count}`, { record, states, lines: [], lastSeq: 0, acknowledged: 0, forkOf: entry });
  }

  forget(id: string, { entry }: Live): void {
    entry.forget();
    this.live.delete(id);
    this.#forgotten.push(id);
    expect(this.#journal.load(id)).toBeUndefined();
  }

  writeElsewhere(): void {
    this.#database.write(() => this.#database.prepare("INSERT INTO other VALUES (1)").run());
    this.#others += 1;
  }

  async endTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.told = new Map(
      Array.from(this.live, ([id, { lines, acknowledged, state }]) => [
        id,
        { lines: [...lines], acknowledged, state: Object.fromEntries(state.entries()) },
      ]),
    );
    this.#check();
  }

  /** The files as a killed process leaves them, in the hands of the next one. */
  async crash(): Promise<void> {
    const left = newPath();
    for (const suffix of ["", "-wal", "-turns"]) copyFileSync(this.#path + suffix, left + suffix);
    await this.stop();
    this.#path = left;
    await this.start();
    this.#check();
    this.live.clear();
    for (const [id, { lines }] of this.told) this.open(id, this.#load(id), lines);
  }

  #load(id: string): SessionOrigin | undefined {
    return this.#journal.load(id) as SessionOrigin | undefined;
  }

  #check(): void {
    expect(this.#countOthers()).toBe(this.#others);
    for (const id of this.#forgotten) expect(this.#load(id)).toBeUndefined();
    for (const [id, told] of this.told) {
      const stored = this.#load(id);
      expect(stored).toMatchObject({ lastSeq: told.lines.length });
      const { lines = [] } = stored ?? {};
      expect(lines).toEqual(told.lines.slice(told.lines.length - lines.length));
      const needed = Math.max(told.lines.length - told.acknowledged, Math.min(told.lines.length, keptLines));
      expect(lines.length).toBeGreaterThanOrEqual(needed);
      expect(Object.fromEntries(stored?.states.get("counter")?.entries() ?? [])).toEqual(told.state);
    }
  }

  #countOthers(): number {
    return Number(this.#database.prepare("SELECT count(*) AS count FROM other").get()?.count);
  }
}

const key = fc.constantFrom("a", "b", "c");
/** A fork makes its parent write in the middle of the turn: forgotten in the same turn, it must stay so. */
const forkedAndForgotten: Step[] = [
  { kind: "endTurn" },
  { kind: "set", which: 0, key: "a", value: 1 },
  { kind: "fork", which: 0 },
  { kind: "forget", which: 0 },
];
/** More than is kept, of which the oldest is in tables. */
const saidMuch: Step[] = [
  { kind: "say", which: 0, count: 1500 },
  { kind: "writeElsewhere" },
  { kind: "endTurn" },
  ...Array.from({ length: 5 }, (): Step[] => [
    { kind: "acknowledge", which: 0 },
    { kind: "say", which: 0, count: 1500 },
    { kind: "endTurn" },
  ]).flat(),
];
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("say" as const), which: fc.nat(), count: fc.constantFrom(1, 2, 1500) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("set" as const), which: fc.nat(), key, value: fc.option(fc.nat(9)) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("acknowledge" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), which: fc.nat(), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("fork" as const, "forget" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("open" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("writeElsewhere" as const) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("endTurn" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

test("what was told before a kill is what the next host finds, and it can go on with it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const host = new Host(newPath());
      await host.start();
      host.open("first");
      let opened = 0;
      for (const next of steps) {
        if (next.kind === "endTurn") await host.endTurn();
        else if (next.kind === "writeElsewhere") host.writeElsewhere();
        else if (next.kind === "open") host.open(`opened ${opened++}`);
        else if (next.kind === "crash") {
          await host.endTurn();
          await host.crash();
        } else {
          const all = [...host.live];
          const [id, live] = all[next.which % all.length] ?? [];
          if (id === undefined || live === undefined) continue;
          if (next.kind === "say") host.say(live, next.count);
          else if (next.kind === "acknowledge") host.acknowledge(id, live);
          else if (next.kind === "set") live.state.set(next.key, next.value);
          else if (next.kind === "delete") live.state.delete(next.key);
          else if (next.kind === "fork") host.fork(live);
          else host.forget(id, live);
        }
      }
      await host.endTurn();
      await host.crash();
      await host.checkTables();
    }),
    { numRuns: 60, examples: [[forkedAndForgotten], [saidMuch]] },
  );
});

test("what a failed sync may have lost is told to nobody who comes back", async () => {
  let failing: Error | null = null;
  const database = await createSqliteDatabase({
    path: newPath(),
    durability: "power",
    syncFile: (_file, callback) => setImmediate(callback, failing),
  });
  const journal = createSqlJournal(database);
  const released: unknown[] = [];
  const entry = journal.open({
    id: "one",
    readRecord: () => record,
    released: (lines) => void released.push(...lines),
    lost: (error) => void released.push(error.message),
  });
  entry.lines.append("a");
  await vi.waitFor(() => expect(released).toEqual(["a"]));
  expect(journal.load("one")).toMatchObject({ lines: ["a"] });
  failing = new Error("the disk is gone");
  entry.lines.append("b");
  await vi.waitFor(() => expect(released).toHaveLength(2));
  expect(released[1]).toBe("the disk is gone");
  expect(journal.load("one")).toBeUndefined();
  await database.close();
});

test("nothing is written with a turn that follows a lost turn, also if an earlier turn ends in between", async () => {
  const syncs: (() => void)[] = [];
  const path = newPath();
  const database = await createSqliteDatabase({
    path,
    durability: "power",
    syncFile: (_file, callback) => void syncs.push(() => callback(null)),
  });
  const journal = createSqlJournal(database);
  const told: string[] = [];
  const entry = journal.open({
    id: "one",
    readRecord: () => record,
    released: (lines) => void told.push(...lines),
    lost: (error) => void told.push(error.message),
  });
  const written: string[] = [];
  const turn = async (line: string, write = () => void written.push(line)) => {
    entry.lines.append(line);
    entry.lines.writtenWith(write);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await turn("a");
  await turn("b");
  await turn("lost", () => {
    throw new Error("no audit");
  });
  await vi.waitFor(() => expect(syncs.length).toBeGreaterThan(0));
  syncs.shift()?.();
  await vi.waitFor(() => expect(told).toEqual(["a"]));
  await turn("c");
  expect(written).toEqual(["a", "b"]);
  await vi.waitFor(() => {
    syncs.shift()?.();
    expect(told).toEqual(["a", "b", "no audit"]);
  });
  expect(journal.load("one")).toMatchObject({ lines: ["a", "b"], lastSeq: 2 });
  entry.lines.writtenWith(() => void written.push("after the loss"));
  expect(written).toEqual(["a", "b"]);
  const closing = database.close();
  const timer = setInterval(() => syncs.shift()?.(), 1);
  await closing;
  clearInterval(timer);
});
