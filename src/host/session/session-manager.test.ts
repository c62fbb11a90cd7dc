import { afterEach, expect, test, vi } from "vitest";
import { plugin, type SessionPart } from "../../plugin/plugin.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import type { Session } from "../session.ts";
import { createGate, probe, probePlugin, type Run, startRawHost } from "./raw-session.suite.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A host whose clock and sweep move together. */
async function startTimed(limits: object, run?: Run, part?: Partial<SessionPart>) {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const clock = createFakeClock();
  const raw = await startRawHost([probePlugin(run, undefined, part)], { clock, limits });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { raw, pass, sessions: raw.host.sessions };
}

test("sessions are created, found, listed and deleted", async () => {
  await using raw = await startRawHost();
  const { sessions } = raw.host;
  const [one, other] = [sessions.create(), sessions.create()];
  expect(one.id).not.toBe(other.id);
  expect(one.id).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  expect(sessions.get(one.id)).toBe(one);
  expect(sessions.list()).toEqual([one, other]);
  expect(await sessions.delete(one.id)).toBe(true);
  expect(one.status).toBe("closed");
  expect(sessions.get(one.id)).toBeUndefined();
  expect(await sessions.delete(one.id)).toBe(false);
  expect(await sessions.delete("__proto__")).toBe(false);
  expect(sessions.size).toBe(1);
});

test("a deleted session tells its agent why it ended", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  await raw.host.sessions.delete(peer.session.id, "an operator said so");
  peer.read();
  expect(peer.received.at(-1)).toMatchObject({ type: "session/closed", reason: "an operator said so" });
});

test("a source of ids that repeats itself cannot take a session's place", async () => {
  await using raw = await startRawHost(undefined, { createSessionId: () => "always" });
  const first = raw.host.sessions.create();
  expect(() => raw.host.sessions.create()).toThrow("repeats");
  expect(raw.host.sessions.get("always")).toBe(first);
});

test("beyond maxSessions no session is created, until one has gone", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxSessions: 2 } });
  const { sessions } = raw.host;
  const first = sessions.create();
  sessions.create();
  expect(() => sessions.create()).toThrow(
    expect.objectContaining({ code: "rate_limited", detail: { limit: "maxSessions", retry_after_ms: 1_000 } }),
  );
  await sessions.delete(first.id);
  expect(sessions.create().status).toBe("new");
});

test("a session without a message for sessionIdleMs is closed, and the reason is told", async () => {
  const { raw, pass, sessions } = await startTimed({ sessionIdleMs: 60_000 });
  await using _ = raw;
  const peer = await raw.open();
  peer.close();
  await pass(59_000);
  expect(sessions.size).toBe(1);
  peer.request("1");
  await pass(59_000);
  expect(sessions.size).toBe(1);
  await pass(1_000);
  expect(sessions.size).toBe(0);
  expect(raw.log.entries).toContainEqual(
    expect.objectContaining({ message: "session expired", fields: expect.objectContaining({ reason: "idle" }) }),
  );
});

test("a session with a reader or a transport is not idle, and idleness counts from when the last left", async () => {
  const { raw, pass, sessions } = await startTimed({ sessionIdleMs: 60_000 });
  await using _ = raw;
  const peer = await raw.open();
  const unbind = peer.session.bindTransport({ deliver() {}, closed() {} });
  peer.close();
  await pass(600_000);
  expect(sessions.size).toBe(1);
  unbind();
  await pass(59_000);
  expect(sessions.size).toBe(1);
  await pass(1_000);
  expect(sessions.size).toBe(0);
});

test("a session with a call in flight is not idle", async () => {
  const gate = createGate();
  const { raw, pass, sessions } = await startTimed({ sessionIdleMs: 60_000 }, gate.run);
  await using _ = raw;
  const peer = await raw.open();
  peer.request("1", "a");
  peer.close();
  await pass(600_000);
  expect(sessions.size).toBe(1);
});

test("a session that still works in the background is not idle", async () => {
  const gate = createGate();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const clock = createFakeClock();
  const working = plugin(probe, {
    session: (context) => ({
      handlers: {
        run: ({ name }) => {
          void context.call("test/other/req", { name });
          return { value: "begun" };
        },
        other: gate.run,
      },
    }),
  });
  await using raw = await startRawHost([working], { clock, limits: { sessionIdleMs: 60_000 } });
  const pass = async () => {
    clock.advance(600_000);
    await vi.advanceTimersByTimeAsync(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const peer = await raw.open();
  await peer.ask("1", "a");
  peer.close();

  await pass();
  expect(raw.host.sessions.size).toBe(1);
  gate.release("a");
  await pass();
  expect(raw.host.sessions.size).toBe(0);
});

test("a session older than sessionMaxAgeMs is closed, however busy", async () => {
  const gate = createGate();
  const { raw, pass, sessions } = await startTimed({ sessionMaxAgeMs: 100_000 }, gate.run);
  await using _ = raw;
  const peer = await raw.open();
  peer.request("1", "a");
  await pass(99_000);
  expect(sessions.size).toBe(1);
  await pass(1_000);
  expect(sessions.size).toBe(0);
  peer.read();
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled" }]);
  expect(peer.received.at(-1)).toMatchObject({ type: "session/closed", reason: "maximum age reached", cut_off: ["1"] });
});

test("a session that has not shaken hands within handshakeTimeoutMs is closed, whatever else it says", async () => {
  const { raw, pass, sessions } = await startTimed({ handshakeTimeoutMs: 10_000 });
  await using _ = raw;
  const peer = raw.connect();
  const punctual = await raw.open();
  await pass(9_000);
  peer.request("1");
  await peer.settle();
  expect(sessions.size).toBe(2);
  await pass(1_000);
  expect(sessions.list()).toEqual([punctual.session]);
  expect(peer.received.at(-1)).toMatchObject({ type: "session/closed", reason: "no handshake" });
});

test("a session that takes long to close is expired once, not once per sweep", async () => {
  let finish = () => {};
  const close = () =>
    new Promise<void>((resolve) => {
      finish = resolve;
    });
  const { raw, pass, sessions } = await startTimed({ sessionMaxAgeMs: 1_000 }, undefined, { close });
  await using _ = raw;
  await raw.open();
  for (let sweep = 0; sweep < 3; sweep++) await pass(2_000);
  expect(sessions.size).toBe(1);
  expect(raw.log.entries.filter(({ message }) => message === "session expired")).toHaveLength(1);
  finish();
  await pass(0);
  expect(sessions.size).toBe(0);
});

test("the sweep stops when the last session has gone, and starts with the next", async () => {
  const { raw, pass, sessions } = await startTimed({ handshakeTimeoutMs: 1_000 });
  await using _ = raw;
  sessions.create();
  expect(vi.getTimerCount()).toBe(1);
  await pass(2_000);
  await pass(0);
  expect(vi.getTimerCount()).toBe(0);
  sessions.create();
  await pass(2_000);
  expect(sessions.size).toBe(0);
});

test("a closed manager creates and revives nothing", async () => {
  const raw = await startRawHost();
  await raw.host.close(0);
  expect(() => raw.host.sessions.create()).toThrow(expect.objectContaining({ code: "cancelled" }));
});

test("one session's expiry does not touch another", async () => {
  const { raw, pass, sessions } = await startTimed({ sessionIdleMs: 60_000 });
  await using _ = raw;
  const [quiet, busy] = [await raw.open(), await raw.open()];
  quiet.close();
  await pass(59_000);
  await busy.ask("1", "x");
  await pass(1_000);
  expect(sessions.list()).toEqual([busy.session]);
  expect(await busy.ask("2", "still here")).toMatchObject({ value: "still here" });
});

test("a session that ends late does not take away the one that came back under its id", async () => {
  await using raw = await startRawHost(undefined, { createSessionId: () => "the same" });
  const { sessions } = raw.host;
  const first = sessions.create();
  let second: Session | undefined;
  // Closing calls this before it removes the session.
  first.onClosed(() => {
    void sessions.open("the same", {});
    second = sessions.get("the same");
  });
  await first.close();
  expect(second).not.toBe(first);
  expect(sessions.get("the same")).toBe(second);
  await second?.close();
  expect(sessions.get("the same")).toBeUndefined();
});
