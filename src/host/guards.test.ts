import { expect, test, vi } from "vitest";
import { z } from "zod";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { plugin } from "../plugin/plugin.ts";
import type { Database } from "../plugin/ports/database.ts";
import { capability, push } from "../protocol/table/capability.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { startHost } from "../testing/start-host.ts";
import { echo, probe, probePlugin, type Run, startRawHost } from "./session/raw-session.suite.ts";

/** A database that can be made to refuse every write, as one does that another process has locked. */
async function createFailing(): Promise<{ database: Database; fail(isFailing: boolean): void }> {
  const real = await createSqliteDatabase({ path: ":memory:" });
  let isFailing = false;
  const begin = () => {
    if (isFailing) throw new Error("database is locked");
  };
  const database: Database = {
    isPersistent: real.isPersistent,
    migrate: (component, migrations) => real.migrate(component, migrations),
    prepare: (sql) => real.prepare(sql),
    write(work) {
      begin();
      return real.write(work);
    },
    beforeCommit(callback) {
      begin();
      real.beforeCommit(callback);
    },
    afterCommit: (callback) => real.afterCommit(callback),
    close: () => real.close(),
  };
  return {
    database,
    fail(next) {
      isFailing = next;
    },
  };
}

/** Ends once, is gone for its agent, and leaves the rest of the host as it was. Whatever is thrown beside fails the test. */
async function expectDropped(run: Run, limits: object = {}): Promise<void> {
  const { database, fail } = await createFailing();
  // Every call changes the state of its session before it is answered.
  const changing = plugin(probe, {
    session: ({ state }) => ({
      handlers: {
        run(request, context) {
          state.set("last", context.id);
          return run(request, context);
        },
        other: echo,
      },
    }),
  });
  await using raw = await startRawHost([changing], { database, journal: createSqlJournal(database), limits });
  const peer = await raw.open();
  const gone = new Promise<void>((resolve) => peer.session.onClosed(resolve));
  fail(true);
  for (const id of ["1", "2", "3"]) peer.request(id);
  await gone;
  fail(false);

  expect(peer.session.pendingCalls).toBe(0);
  const ended = raw.audit.filter(({ type }) => type === probe.calls.run.type);
  expect(ended.map(({ req_id }) => req_id)).toEqual(["1", "2", "3"]);
  const other = await raw.open();
  expect(await other.ask("4", "other", probe.calls.other.type)).toMatchObject({ value: "other" });
}

test("calls that end at once while nothing can be written end all the same, and their session is dropped", () =>
  expectDropped(() => ({ value: "a" })));

test("calls that end later while nothing can be written end all the same, and their session is dropped", () =>
  expectDropped(() => new Promise((resolve) => setImmediate(() => resolve({ value: "a" })))));

test("calls whose time is over while nothing can be written end all the same, and their session is dropped", () =>
  expectDropped(() => new Promise(() => {}), { callTimeoutMs: 50 }));

test("a session ends while nothing can be written", async () => {
  const { database, fail } = await createFailing();
  await using raw = await startRawHost([probePlugin()], { database, journal: createSqlJournal(database) });
  const peer = await raw.open();
  fail(true);
  await peer.session.close();
  expect(peer.session.status).toBe("closed");
  expect(raw.host.sessions.list()).toEqual([]);
  fail(false);
});

test("a timeout that a transport throws at ends its call, and the calls around it", async () => {
  const limits = { callTimeoutMs: 20, maxParallelCalls: 2 };
  await using raw = await startRawHost([probePlugin(() => new Promise(() => {}))], { limits });
  const { session } = await raw.open();
  session.bindTransport({
    deliver() {
      throw new Error("broken link");
    },
    closed() {},
  });
  for (const id of ["1", "2", "3"]) session.receiveLine(JSON.stringify({ type: probe.calls.run.type, id }));
  await vi.waitFor(() => expect(session.pendingCalls).toBe(0));
  const timedOut = raw.audit.filter(({ error_code }) => error_code === "timeout");
  expect(timedOut.map(({ req_id }) => req_id)).toEqual(["1", "2", "3"]);
});

test("an agent in process that throws at a push leaves the call that pushed with its answer", async () => {
  const news = push("test/news", { doc: "", payload: z.object({}), example: {} });
  const telling = plugin(capability("test", { doc: "", calls: { run: probe.calls.run }, pushes: { news } }), {
    session: (context) => ({
      handlers: {
        run() {
          context.push(news, {});
          return { value: "told" };
        },
      },
    }),
  });
  await using started = await startHost(telling);
  started.client.onPush(news, () => {
    throw new Error("mine");
  });
  const caught: unknown[] = [];
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => caught.push(error));
  try {
    expect(await started.client.test.run({})).toMatchObject({ value: "told" });
    await new Promise(setImmediate);
  } finally {
    process.removeAllListeners("uncaughtException");
    for (const listener of before) process.on("uncaughtException", listener);
  }
  // It is the agent's own, and surfaces apart from everything of the host.
  expect(caught).toEqual([expect.objectContaining({ message: "mine" })]);
  expect(started.log.entries).toEqual([]);
});
