import { expect, test } from "vitest";
import { keepSessions } from "../../durability/keep-sessions.ts";
import { plugin } from "../../plugin/plugin.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { recordHost } from "../../recording/recorded-host.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import { A2EHost } from "../host.ts";
import { echo, probe, probePlugin, RawPeer, side, sidePlugin, startRawHost } from "./raw-session.suite.ts";
import type { CreateTap } from "./session-origin.ts";
import type { TapCause } from "./session-tap.ts";

/** A tap that notes everything it sees of sessions, as `<kind> <text>`. */
function createNotes() {
  const notes: string[] = [];
  const toNote = (cause: TapCause) => {
    if (cause.kind === "begin" || cause.kind === "held") return cause.kind;
    if (cause.kind === "call") return `call ${cause.call.type}`;
    return `in ${typeof cause.line === "string" ? (JSON.parse(cause.line) as { type: string }).type : cause.line}`;
  };
  const tap: CreateTap = () => ({
    enter(cause, work) {
      notes.push(toNote(cause));
      work();
    },
    sent: (line) => void notes.push(`out ${(JSON.parse(line) as { type: string }).type}`),
    close: () => void notes.push("close"),
  });
  return { notes, tap };
}

test("a tap sees lines in, calls and lines out of its session in their order, and its end once", async () => {
  const { notes, tap } = createNotes();
  const outer = probePlugin(async (_request, { call }) => ({
    value: (await call(side.calls.run, { name: "x" })).value,
  }));
  await using raw = await startRawHost([outer, sidePlugin()], { tap });
  const peer = await raw.open();
  await peer.ask("1", "x");
  peer.session.receiveTooLong();
  await peer.session.close();
  await peer.session.close();
  expect(notes).toEqual([
    "in handshake/req",
    "call handshake/req",
    "out handshake/resp",
    "in test/run/req",
    "call test/run/req",
    "call env/run/req",
    "out test/run/resp",
    "in null",
    "out error",
    "out session/closed",
    "close",
  ]);
});

test("a tap sees the answer to a repeated request again, but no call", async () => {
  const { notes, tap } = createNotes();
  await using raw = await startRawHost([probePlugin()], { tap });
  const peer = await raw.open();
  await peer.ask("1", "x");
  notes.length = 0;
  peer.request("1", "x");
  expect(notes).toEqual(["in test/run/req", "out test/run/resp"]);
});

test("messages that wait for a plugin to open are handled within the tap", async () => {
  const { notes, tap } = createNotes();
  const late = plugin(probe, {
    async session() {
      await Promise.resolve();
      return { handlers: { run: echo, other: echo } };
    },
  });
  await using raw = await startRawHost([late], { tap });
  const peer = raw.connect();
  void peer.shakeHands();
  await peer.ask("1", "x");
  expect(notes).toEqual([
    "in handshake/req",
    "call handshake/req",
    "in test/run/req",
    "out handshake/resp",
    "held",
    "call test/run/req",
    "out test/run/resp",
  ]);
});

test("a message that never was text is shown as text, and one without a JSON form as undefined", async () => {
  const { notes, tap } = createNotes();
  await using raw = await startRawHost([probePlugin()], { tap });
  const peer = await raw.open();
  notes.length = 0;
  peer.session.receiveMessage({ type: "ping", id: "1" });
  peer.session.receiveMessage({ type: "ping", id: "2", circular: 1n });
  expect(notes).toEqual(["in ping", "call ping", "out pong", "in undefined", "call ping", "out pong"]);
});

test("the factory is given the id and the beginning of each session, and a session without a tap works as usual", async () => {
  const seen: unknown[] = [];
  const tap: CreateTap = ({ id, beginning, sources }) => {
    seen.push([id, beginning.origin?.record.parent, sources.startedAt > 0]);
    return undefined;
  };
  await using raw = await startRawHost([probePlugin()], { tap });
  const peer = await raw.open();
  const { session_id } = await peer.ask("1", "", "session/fork/req");
  const fork = new RawPeer(raw.host.sessions.get(String(session_id)) as never);
  expect(await fork.ask("1", "x")).toMatchObject({ value: "x" });
  expect(seen).toEqual([
    [peer.session.id, undefined, true],
    [session_id, peer.session.id, true],
  ]);
});

test("a fork begins within its tap, and draws from the sources that the tap gives it", async () => {
  const { notes, tap } = createNotes();
  const withSources: CreateTap = (session) => {
    const noting = tap(session);
    if (noting === undefined || session.beginning.origin === undefined) return noting;
    return { ...noting, sources: { ...session.sources, nextId: () => "from the tap" } };
  };
  await using raw = await startRawHost([probePlugin()], { tap: withSources });
  const peer = await raw.open();
  const { session_id } = await peer.ask("1", "", "session/fork/req");
  expect(notes).toContain("begin");
  const fork = new RawPeer(raw.host.sessions.get(String(session_id)) as never);
  expect(await fork.ask("1", "x")).toMatchObject({ id: "from the tap", value: "x" });
});

test("a recorded host keeps the tap and the interceptors that it was given", async () => {
  const { notes, tap } = createNotes();
  const recordings = createMemoryRecordings();
  const types: string[] = [];
  const options = recordHost(
    {
      plugins: [probePlugin()],
      keeping: keepSessions,
      snapshots: createMemorySnapshotStore(),
      tap,
      interceptors: [
        (next) => (call) => {
          types.push(call.type);
          return next(call);
        },
      ],
    },
    { recordings },
  );
  const host = await A2EHost.start(options);
  const peer = new RawPeer(host.sessions.create());
  await peer.shakeHands();
  await peer.ask("1", "x", probe.calls.run.type);
  await host.close(0);
  expect(types).toEqual(["handshake/req", "test/run/req"]);
  expect(notes).toContain("call test/run/req");
  expect(recordings.texts[0]).toContain("test/run/resp");
});
