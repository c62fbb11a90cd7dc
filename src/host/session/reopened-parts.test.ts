// What happens while a restore reopens parts.
import { expect, test } from "vitest";
import { plugin, type SessionPart } from "../../plugin/plugin.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { type RawHost, RawPeer, side, startRawHost } from "./raw-session.suite.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Keeps the name of the last call. Closes a turn later; opens a turn later as well unless `isQuick`, like a plugin in a thread. */
function createLate(isQuick = false) {
  const open = new Set<object>();
  const late = plugin(side, {
    session: ({ state }) => {
      const part: SessionPart<typeof side> = {
        handlers: {
          run({ name }) {
            if (name !== "") state.set("kept", name);
            return { value: String(state.get("kept")) };
          },
        },
        async close() {
          open.delete(part);
          await nextTurn();
        },
      };
      open.add(part);
      return isQuick ? part : nextTurn().then(() => part);
    },
  });
  return { open, plugin: late };
}

const start = (late: ReturnType<typeof createLate>): Promise<RawHost> =>
  startRawHost([late.plugin], { snapshots: createMemorySnapshotStore() });

let asked = 0;
async function ask(peer: RawPeer, type: string, fields: object = {}) {
  asked += 1;
  const id = `ask-${asked}`;
  peer.send({ type, id, ...fields });
  return peer.answer(id);
}
const keep = async (peer: RawPeer, name: string) => (await ask(peer, "env/run/req", { name })).value;

/** After how many turns the second request meets the restore, so that it meets each of its steps. */
const steps = [0, 1, 2, 3];

test.each(steps)(
  "a fork and a snapshot of a session that is being restored have its whole state: after %i turns",
  async (turns) => {
    const late = createLate();
    await using raw = await start(late);
    const peer = await raw.open({ agent_caps: ["env"] });
    await keep(peer, "before");
    const { snapshot_id } = await ask(peer, "session/snapshot/req");
    await keep(peer, "after");
    const restoring = ask(peer, "session/restore/req", { snapshot_id });
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    const forking = ask(peer, "session/fork/req");
    const saving = ask(peer, "session/snapshot/req");
    expect(await restoring).toMatchObject({ capabilities: { env: "restored" } });

    const { session_id, capabilities } = await forking;
    expect(capabilities).toEqual({ env: "copied" });
    const fork = new RawPeer(raw.host.sessions.get(String(session_id)) as never);
    const found = await keep(fork, "");
    expect(["before", "after"]).toContain(found);
    expect(await saving).toMatchObject({ capabilities: { env: "saved" } });
  },
);

test.each(steps)("a second restore runs after the first, and no part is left open: after %i turns", async (turns) => {
  const late = createLate();
  await using raw = await start(late);
  const peer = await raw.open({ agent_caps: ["env"] });
  await keep(peer, "before");
  const { snapshot_id } = await ask(peer, "session/snapshot/req");
  await keep(peer, "after");
  const restoring = ask(peer, "session/restore/req", { snapshot_id });
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  expect(await ask(peer, "session/restore/req", { snapshot_id })).toMatchObject({ capabilities: { env: "restored" } });
  await restoring;
  expect(await keep(peer, "")).toBe("before");
  expect(late.open.size).toBe(1);
});

test.each(steps)(
  "a session that ends while it is being restored leaves no part open: after %i turns",
  async (turns) => {
    for (const late of [createLate(), createLate(true)]) {
      await using raw = await start(late);
      const peer = await raw.open({ agent_caps: ["env"] });
      await ask(peer, "session/snapshot/req");
      peer.send({ type: "session/restore/req", id: "restore" });
      for (let turn = 0; turn < turns; turn++) await nextTurn();
      await peer.session.close();
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(late.open.size).toBe(0);
    }
  },
);
