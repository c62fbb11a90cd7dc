// A session whose part is closed and opened anew, as a restore or a merge does, while its calls run in the thread.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGate, probePlugin, RawPeer, startRawHost } from "../host/session/raw-session.suite.ts";
import { identical, record, replay } from "../recording/replayed-session.suite.ts";
import { createIsolatedFolder, type IsolatedFolder } from "./isolated-host.suite.ts";

let folder: IsolatedFolder;
beforeAll(async () => {
  folder = await createIsolatedFolder();
});
afterAll(() => folder.remove());

const run = "work/run/req";
const caps = { agent_caps: ["work", "test"] };

const asking = `
  return {
    session: ({ state, push, call, ask }) => part({
      keep: () => { state.set("kept", (state.get("kept") ?? 0) + 1); return state.get("kept"); },
      exit: () => process.exit(3),
      hang: ({ emit }) => { emit("progress", {}); return wait(60_000); },
      alice: ({ call }) => call("test/run/req", { name: "alice" }),
      bob: ({ call }) => call("test/run/req", { name: "bob" }),
      slow: async ({ call, emit }) => { emit("progress", {}); await wait(300); return (await call("test/run/req", { name: "bob" })).value; },
      question: ({ emit }) => { emit("progress", {}); return ask(question, { text: "" }, { timeoutMs: 60_000 }).catch(({ code }) => code); },
      own: () => call("test/run/req", { name: "own" }).catch(({ code }) => code),
      async later({ call, emit }) {
        const { value } = await call("test/run/req", { name: "later" });
        emit("progress", { value });
        const first = state.get("kept");
        state.set("kept", "of a part that was closed");
        push(told, { text: "of a part that was closed" });
        const asked = await ask(question, { text: "of a part that was closed" }).catch(({ code }) => code);
        const { value: again } = await call("test/other/req", { name: "again" });
        return [value, first, asked, again];
      },
    }),
  };`;

async function restore(peer: RawPeer, snapshot_id: unknown): Promise<void> {
  peer.send({ type: "session/restore/req", id: `restore ${peer.received.length}`, version: "1.0", snapshot_id });
  await peer.until(() => peer.received.some(({ type }) => type === "session/restore/resp"));
}

async function keep(peer: RawPeer): Promise<unknown> {
  await peer.ask("keeps", "keep", run);
  return (await peer.ask("saves", "", "session/snapshot/req")).snapshot_id;
}

test("a message to a session before it was reopened does not reach the next thread", async () => {
  const gate = createGate();
  await using raw = await startRawHost([await folder.load(asking), probePlugin(gate.run)]);
  const [alice, bob] = [await raw.open(caps), await raw.open(caps)];
  const saved = await keep(alice);
  const asked = alice.ask("alice", "alice", run);
  await expect.poll(() => gate.started).toEqual(["alice"]);
  await restore(alice, saved);
  expect(await bob.ask("exits", "exit", run)).toMatchObject({ code: "sandbox_crash" });
  // The first request of the next thread, as that of the other session was in the last.
  const answered = bob.ask("bob", "bob", run);
  await expect.poll(() => gate.started).toEqual(["alice", "bob"]);
  gate.release("alice");
  await bob.settle();
  gate.release("bob");
  expect(await answered).toMatchObject({ value: { value: "bob" } });
  expect(await asked).toMatchObject({ code: "sandbox_crash" });
});

test("a call that runs while its session is restored completes without changing the restored state", async () => {
  const gate = createGate();
  await using raw = await startRawHost([await folder.load(asking), probePlugin(gate.run)]);
  const peer = await raw.open(caps);
  const saved = await keep(peer);
  const later = peer.ask("later", "later", run);
  await expect.poll(() => gate.started).toEqual(["later"]);
  await restore(peer, saved);
  gate.release("later");
  expect(await later).toMatchObject({ value: ["later", 1, "cancelled", "again"] });
  expect(peer.events("later")).toMatchObject([{ data: { value: "later" } }]);
  expect(await peer.ask("keeps again", "keep", run)).toMatchObject({ value: 2 });
  expect(peer.received.filter(({ type }) => type === "work/told")).toEqual([]);
});

test("a call that runs while a fork is merged into its session comes to its end", async () => {
  const gate = createGate();
  await using raw = await startRawHost([await folder.load(asking), probePlugin(gate.run)]);
  const peer = await raw.open(caps);
  await keep(peer);
  const { session_id } = await peer.ask("forks", "", "session/fork/req");
  const fork = raw.host.sessions.get(String(session_id));
  await new RawPeer(fork as never).ask("keeps in the fork", "keep", run);
  const later = peer.ask("later", "later", run);
  await expect.poll(() => gate.started).toEqual(["later"]);
  peer.send({ type: "session/merge/req", id: "merges", version: "1.0", session_id });
  expect(await peer.answer("merges")).toMatchObject({ capabilities: { work: { merged: 1 } } });
  gate.release("later");
  expect(await later).toMatchObject({ value: ["later", 1, "cancelled", "again"] });
});

test("a call of a session that was opened anew can be cancelled, and is lost with its thread", async () => {
  await using raw = await startRawHost([await folder.load(asking), probePlugin()]);
  const peer = await raw.open(caps);
  const saved = await keep(peer);
  const calls = ["first", "second"].map((id) => peer.ask(id, "hang", run));
  await peer.until(() => peer.events("first").length + peer.events("second").length === 2);
  await restore(peer, saved);
  peer.send({ type: "invoke/cancel/req", id: "cancels", call_id: "first" });
  expect(await calls[0]).toMatchObject({ code: "cancelled" });
  expect(await peer.ask("exits", "exit", run)).toMatchObject({ code: "sandbox_crash" });
  expect(await calls[1]).toMatchObject({ code: "sandbox_crash" });
});

test("a request that a session made outside of its calls is rejected when its part is closed", async () => {
  const gate = createGate();
  await using raw = await startRawHost([await folder.load(asking), probePlugin(gate.run)]);
  const peer = await raw.open(caps);
  const saved = await keep(peer);
  const own = peer.ask("own", "own", run);
  await expect.poll(() => gate.started).toEqual(["own"]);
  await restore(peer, saved);
  expect(await own).toMatchObject({ value: "cancelled" });
  expect(gate.contexts.get("own")?.signal.aborted).toBe(true);
});

test("calls that ran while their session was restored are replayed", async () => {
  const plugins = [await folder.load(asking), probePlugin()];
  const recorded = await record(plugins, async (peer) => {
    const saved = await keep(peer);
    const calls = ["slow", "question"].map((name) => peer.ask(name, name, run));
    await peer.until(() => peer.events("slow").length === 1 && peer.events("question").length === 1);
    await restore(peer, saved);
    expect(await Promise.all(calls)).toMatchObject([{ value: "bob" }, { value: "cancelled" }]);
    expect(await peer.ask("keeps again", "keep", run)).toMatchObject({ value: 2 });
  });
  expect(await replay(recorded, plugins)).toEqual(identical);
});
