// A replay uses the recorded messages of a plugin in a thread, and starts no thread.
import { afterAll, beforeAll, expect, test } from "vitest";
import { toolkitsPlugin } from "../caps/toolkits/plugin.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { probePlugin, RawPeer, startRawHost } from "../host/session/raw-session.suite.ts";
import { createMemoryRecordings } from "../recording/memory-recordings.suite.ts";
import { identical, record, replay } from "../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createIsolatedFolder, type IsolatedFolder, watchThreads } from "./isolated-host.suite.ts";

let folder: IsolatedFolder;
beforeAll(async () => {
  folder = await createIsolatedFolder();
});
afterAll(() => folder.remove());

const run = "work/run/req";

/** Every result contains a random number, so a second run would differ. */
const drawing = `
  const draw = () => String(Math.random()) + performance.now();
  return {
    session({ state, push, ask, call, clock, nextId, random, session }) {
      if (session.principal.agentId === "stranger") throw new Error("not for strangers");
      if (state.get("own") === undefined) state.set("own", draw());
      const own = state.get("own") + draw();
      const asking = (timeoutMs) =>
        ask(question, { text: draw() }, { timeoutMs }).then(({ text }) => text + draw(), ({ code }) => code);
      return part({
        draw: () => [draw(), Date.now(), clock.now(), nextId(), random(), own],
        keep: () => { state.set("kept", draw()); state.set("gone", 1); return state.get("kept"); },
        drop: () => state.delete("gone"),
        show: () => state.get("kept"),
        async later({ emit }) {
          for (let at = 0; at < 3; at++) { emit("progress", { drawn: draw() }); await wait(5); }
          setTimeout(() => push(told, { text: draw() }), 20);
          return draw();
        },
        ask: () => asking(),
        askBriefly: () => asking(100),
        async others(context) {
          const events = [];
          const onEvent = ({ data }) => events.push(data);
          const mine = await context.call("test/run/req", { name: draw() }, { onEvent });
          const ours = await call("test/other/req", { name: draw() });
          const failed = await context.call("nobody/knows", {}).catch(({ code }) => code);
          return [mine, ours, failed, events];
        },
        fail: () => { throw new A2EError("too_much", draw(), { detail: { drawn: draw() } }); },
        broken: () => { throw new Error(draw()); },
        exit: () => { void call("test/run/req", { name: "left alone" }); return wait(20).then(() => process.exit(3)); },
        hang: ({ setTimeout }) => { setTimeout(30); return wait(60_000); },
      });
    },
  };`;

async function talk(peer: RawPeer): Promise<void> {
  for (const name of ["draw", "keep", "drop", "later", "others", "fail", "broken", "hang", "draw"])
    await peer.ask(name + peer.received.length, name, run);
  const questions = () => peer.received.filter(({ type }) => type === "work/question/req");
  const asked = peer.ask("asks", "ask", run);
  await peer.until(() => questions().length === 1);
  peer.send({ type: "work/question/resp", id: "answer", req_id: questions()[0]?.id, text: "yes" });
  expect(await asked).toMatchObject({ value: expect.stringContaining("yes") });
  expect(await peer.ask("asks again", "askBriefly", run)).toMatchObject({ value: "timeout" });
  const { snapshot_id } = await peer.ask("snapshot", "", "session/snapshot/req");
  await peer.ask("keeps again", "keep", run);
  expect(await peer.ask("exits", "exit", run)).toMatchObject({ code: "sandbox_crash" });
  await peer.ask("draws again", "draw", run);
  peer.send({ type: "session/restore/req", id: "restore", version: "1.0", snapshot_id });
  await peer.answer("restore");
  await Promise.all(["draw", "show", "later", "others"].map((name) => peer.ask(`at once: ${name}`, name, run)));
  await peer.until(() => peer.received.filter(({ type }) => type === "work/told").length === 2);
}

test.each([
  ["", false],
  [", of a host that keeps a journal", true],
])(
  "random numbers, state, messages, requests and failures of a plugin in a thread are replayed without a thread%s",
  async (_, isDurable) => {
    const loaded = await folder.load(drawing);
    const counting = () => {
      let count = 0;
      const say: Parameters<typeof probePlugin>[0] = ({ name }, { emit }) => {
        count += 1;
        emit("progress", { count });
        return { value: `${count} ${name}` };
      };
      return probePlugin(say, say);
    };
    const durable = async () => {
      const database = await createSqliteDatabase({ path: ":memory:" });
      return { database, journal: createSqlJournal(database) };
    };
    const recorded = await record([loaded, counting()], talk, isDurable ? await durable() : {});
    const threads = watchThreads();
    expect(await replay(recorded, [loaded, counting()])).toEqual(identical);
    expect(threads.running.size).toBe(0);
    threads.stop();
  },
);

test("a session that a plugin in a thread refused to open is refused again", async () => {
  const loaded = await folder.load(drawing);
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([loaded], { recordings });
  const peer = raw.connect();
  expect(await peer.shakeHands({ agent_id: "stranger", agent_caps: ["work"] })).toMatchObject({ ok: false });
  await raw.host.close(0);
  expect(await replay({ text: recordings.texts[0] ?? "" }, [loaded])).toEqual(identical);
});

test("changes that a fork made in a thread are merged in a replay as in the recording", async () => {
  const loaded = await folder.load(drawing);
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([loaded], { recordings });
  const peer = await raw.open({ agent_caps: ["work"] });
  await peer.ask("1", "keep", run);
  const { session_id } = await peer.ask("2", "", "session/fork/req");
  const fork = new RawPeer(raw.host.sessions.get(session_id as string) as never);
  await fork.ask("3", "drop", run);
  await fork.ask("4", "draw", run);
  peer.send({ type: "session/merge/req", id: "5", session_id });
  expect(await peer.answer("5")).toMatchObject({ capabilities: { work: { merged: 1 } } });
  await peer.ask("6", "show", run);
  await raw.host.close(0);
  for (const text of recordings.texts) expect(await replay({ text }, [loaded])).toEqual(identical);
});

test("a session whose plugin does not use its state is restored in a replay as it was", async () => {
  const loaded = await folder.load(`
    return { session: () => { const own = Math.random(); return part({ draw: () => own }); } };`);
  const recorded = await record([loaded], async (peer) => {
    await peer.ask("1", "draw", run);
    const { snapshot_id } = await peer.ask("2", "", "session/snapshot/req");
    peer.send({ type: "session/restore/req", id: "3", version: "1.0", snapshot_id });
    await peer.answer("3");
    await peer.ask("4", "draw", run);
  });
  expect(await replay(recorded, [loaded])).toEqual(identical);
});

test("secrets that a plugin in a thread passes on are not in the recording", async () => {
  const loaded = await folder.load(`
    return {
      session: () => part({
        configure: ({ call }) => call("toolkit/configure/req", { toolkit_name: "http", config: { token: "hunter2" } }),
        odd: ({ call }) => call("nobody/knows", undefined).catch(({ code }) => code),
      }),
    };`);
  const plugins = () => [loaded, toolkitsPlugin()];
  const recorded = await record(plugins(), async (peer) => {
    await peer.ask("1", "configure", run);
    await peer.ask("2", "odd", run);
  });
  expect(recorded.text).toContain('"kind":"nested"');
  expect(recorded.text).not.toContain("hunter2");
  expect(await replay(recorded, plugins())).toEqual(identical);
});
