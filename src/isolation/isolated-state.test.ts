import { afterAll, beforeAll, expect, test } from "vitest";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { tools } from "../caps/tools/protocol.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { probePlugin, RawPeer, startRawHost } from "../host/session/raw-session.suite.ts";
import type { Session } from "../host/session.ts";
import { identical, record, replay } from "../recording/replayed-session.suite.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createIsolatedFolder, type IsolatedFolder } from "./isolated-host.suite.ts";

let folder: IsolatedFolder;
beforeAll(async () => {
  folder = await createIsolatedFolder();
});
afterAll(() => folder.remove());

const run = "work/run/req";
const caps = { agent_caps: ["work"] };

/** Keeps everything in the session's state, as a plugin should. */
const keeping = `
  return {
    session: ({ state }) => part({
      add() { state.set("count", (state.get("count") ?? 0) + 1); return state.get("count"); },
      live() { const items = [...(state.get("items") ?? []), "one more"]; state.setLive("items", () => items); return items.length; },
      drop() { state.delete("count"); },
      odd() { state.set("odd", 1n); },
      exit: () => process.exit(3),
    }),
  };`;

test("a lost thread does not cost a session the state of its plugin", async () => {
  await using raw = await startRawHost([await folder.load(keeping)]);
  const peer = await raw.open(caps);
  await peer.ask("1", "add", run);
  await peer.ask("2", "add", run);
  await peer.ask("3", "live", run);
  await peer.ask("4", "odd", run);
  await peer.ask("5", "exit", run);
  expect(await peer.ask("6", "add", run)).toMatchObject({ value: 3 });
  expect(await peer.ask("7", "live", run)).toMatchObject({ value: 2 });
  await peer.ask("8", "drop", run);
  await peer.ask("9", "exit", run);
  expect(await peer.ask("10", "add", run)).toMatchObject({ value: 1 });
  expect(raw.log.entries).toContainEqual(
    expect.objectContaining({
      message: "state of a session cannot be kept",
      fields: expect.objectContaining({ key: "odd" }),
    }),
  );
});

test("the state of a session is saved, restored, forked and merged as that of any other plugin", async () => {
  await using raw = await startRawHost([await folder.load(keeping)]);
  const peer = await raw.open(caps);
  await peer.ask("1", "add", run);
  const { snapshot_id } = await peer.ask("2", "", "session/snapshot/req");
  await peer.ask("3", "add", run);
  peer.send({ type: "session/restore/req", id: "4", snapshot_id });
  expect(await peer.answer("4")).toMatchObject({ type: "session/restore/resp" });
  expect(await peer.ask("5", "add", run)).toMatchObject({ value: 2 });

  const { session_id } = await peer.ask("6", "", "session/fork/req");
  const fork = new RawPeer(raw.host.sessions.get(String(session_id)) as Session);
  expect(await fork.ask("7", "add", run)).toMatchObject({ value: 3 });
  expect(await fork.ask("8", "live", run)).toMatchObject({ value: 1 });
  peer.send({ type: "session/merge/req", id: "9", session_id });
  expect(await peer.answer("9")).toMatchObject({ capabilities: { work: { merged: 2, conflicts: [] } } });
  expect(await peer.ask("10", "add", run)).toMatchObject({ value: 4 });
});

test("a session continues in another host with the state of its plugin as of its last answer", async () => {
  const path = `${folder.path}/a2e.sqlite`;
  const start = async () => {
    const database = await createSqliteDatabase({ path });
    return startRawHost([await folder.load(keeping)], { database, journal: createSqlJournal(database) });
  };
  const first = await start();
  const peer = await first.open(caps);
  await peer.ask("1", "add", run);
  await peer.ask("2", "live", run);
  await first.host.close(0);

  await using second = await start();
  const again = new RawPeer((await second.host.sessions.find(peer.session.id)) as Session);
  expect(await again.ask("3", "add", run)).toMatchObject({ value: 2 });
  expect(await again.ask("4", "live", run)).toMatchObject({ value: 2 });
});

test("a session is replayed byte for byte if its plugin is deterministic: its events, pushes and calls of other capabilities", async () => {
  const draw = () =>
    toolsPlugin({
      builtin: false,
      tools: [
        defineTool({
          name: "draw",
          description: "Draws.",
          input: { type: "object" },
          run: async () => ({ chance: Math.random() }),
        }),
      ],
    });
  const drawing = await folder.load(`
    return {
      session: ({ push, call }) => part({
        async draw(context) {
          context.emit("progress", { text: "drawing" });
          push(told, { text: "drawing" });
          const ask = (call) => call(${JSON.stringify(tools.calls.call.type)}, { tool_name: "draw", arguments: {} });
          return [(await ask(context.call)).data, (await ask(call)).data];
        },
      }),
    };`);
  const plugins = () => [drawing, draw(), probePlugin()];
  const recorded = await record(plugins(), async (peer) => {
    await peer.ask("1", "draw", run);
    await peer.ask("2", "draw", run);
  });
  // Sent by the session itself, and therefore compared.
  for (const type of ["invoke/event", "work/told"])
    expect(recorded.text).toContain(`["out",${JSON.stringify(`{"type":"${type}`).slice(0, -1)}`);
  expect(await replay(recorded, plugins())).toEqual(identical);
});
