// Opening, reopening and closing parts. Restores and merges that meet each other are in reopened-parts.test.ts.
import { expect, test } from "vitest";
import { type Plugin, plugin, type SessionContext, type SessionPart } from "../../plugin/plugin.ts";
import { echo, probe, type RawHost, side, startRawHost } from "./raw-session.suite.ts";

type ProbePart = SessionPart<typeof probe>;

/** A plugin that logs each call of its hooks. `open` decides what `session()` returns. */
function createLogging(
  open: (part: ProbePart, context: SessionContext) => ProbePart | Promise<ProbePart> = (part) => part,
) {
  const calls: string[] = [];
  const logging = plugin(probe, {
    session(context) {
      calls.push(`session ${context.state.get("name") ?? ""}`.trim());
      return open(
        {
          handlers: { run: () => ({ value: String(context.state.get("name")) }), other: echo },
          opened: () => void calls.push("opened"),
          close: (isForGood) => void calls.push(`close ${isForGood}`),
        },
        context,
      );
    },
  });
  return { plugin: logging, calls };
}

const handshake = (raw: RawHost) => raw.open({ agent_caps: ["test", "env"] });
const run = async (peer: Awaited<ReturnType<typeof handshake>>, id: string) => peer.ask(id, "");

/** Sets the name in the state of the plugin under test and has its part reopened. */
function rename(
  raw: RawHost,
  peer: Awaited<ReturnType<typeof handshake>>,
  name: string,
  canUndo = true,
): Promise<void> {
  const { parts } = raw.inside(peer.session);
  return parts.reopenAfter(() => {
    const [loaded] = [...parts.all.keys()];
    if (loaded === undefined) throw new Error("there is no part");
    const undo = parts.states.restore(loaded.name, { name });
    return [canUndo ? { plugin: loaded, undo } : { plugin: loaded }];
  });
}

test("a part is opened with its session, told that the session is open, and closed once for good", async () => {
  const logging = createLogging();
  await using raw = await startRawHost([logging.plugin]);
  const peer = await handshake(raw);
  expect(logging.calls).toEqual(["session", "opened"]);
  await peer.shakeHands();
  await peer.session.close();
  await peer.session.close();
  expect(logging.calls).toEqual(["session", "opened", "close true"]);
});

test("a capability that was not negotiated has no part", async () => {
  const logging = createLogging();
  const other = plugin(side, { session: () => ({ handlers: { run: echo } }) });
  await using raw = await startRawHost([logging.plugin, other]);
  const peer = await raw.open({ agent_caps: ["env"] });
  expect(logging.calls).toEqual([]);
  expect(raw.inside(peer.session).parts.of("test")).toEqual([]);
  await peer.shakeHands({ agent_caps: ["test"] });
  expect(raw.inside(peer.session).parts.of("test")).toHaveLength(1);
});

test("a plugin that fails to open refuses the handshake, and is opened by the next one", async () => {
  let isBroken = true;
  const logging = createLogging((part) => {
    if (isBroken) throw new Error("not now");
    return part;
  });
  await using raw = await startRawHost([logging.plugin]);
  const peer = raw.connect();
  expect(await peer.shakeHands()).toMatchObject({ ok: false, reason: "server_error" });
  isBroken = false;
  expect(await peer.shakeHands()).toMatchObject({ ok: true });
  expect(logging.calls).toEqual(["session", "session", "opened"]);
});

test("a plugin that returns a part without handlers is named in the log, and the handshake is refused", async () => {
  const bad = { capability: probe, session: () => ({}) } as unknown as Plugin;
  await using raw = await startRawHost([bad]);
  expect(await raw.connect().shakeHands()).toMatchObject({ ok: false });
  expect(raw.log.entries.map(({ fields }) => String(fields.error))).toEqual([
    'Error: plugin "test" opened a session without handlers',
  ]);
});

test("opened() that throws is logged, and the session is open", async () => {
  const throwing = createLogging((part) => ({
    ...part,
    opened() {
      throw new Error("mine");
    },
  }));
  await using raw = await startRawHost([throwing.plugin]);
  const peer = await handshake(raw);
  expect(peer.session.status).toBe("open");
  expect(raw.log.entries).toMatchObject([{ message: "opened() of a plugin threw" }]);
});

test("a part whose state was changed is closed, opened again on the new state, and told that the session is open", async () => {
  const logging = createLogging();
  await using raw = await startRawHost([logging.plugin]);
  const peer = await handshake(raw);
  await rename(raw, peer, "b");
  expect(logging.calls).toEqual(["session", "opened", "close false", "session b", "opened"]);
  expect(await run(peer, "1")).toMatchObject({ value: "b" });
});

test("a change waits until parts that are still opening are open", async () => {
  let go = () => {};
  const mayGo = new Promise<void>((resolve) => {
    go = resolve;
  });
  const slow = createLogging((part) => mayGo.then(() => part));
  await using raw = await startRawHost([slow.plugin]);
  const peer = raw.connect();
  const shaking = peer.shakeHands();
  const renaming = rename(raw, peer, "b");
  expect(raw.inside(peer.session).parts.all.size).toBe(0);
  go();
  await renaming;
  expect(await shaking).toMatchObject({ ok: true });
  expect(await run(peer, "1")).toMatchObject({ value: "b" });
});

test("if a plugin cannot open on a changed state, the change is undone and its part opened on the state before", async () => {
  const picky = createLogging((part, { state }) => {
    if (state.get("name") === "bad") throw new Error("cannot read this");
    return part;
  });
  await using raw = await startRawHost([picky.plugin]);
  const peer = await handshake(raw);
  await rename(raw, peer, "good");
  await expect(rename(raw, peer, "bad")).rejects.toThrow("cannot read this");
  expect(await run(peer, "1")).toMatchObject({ value: "good" });
  expect(picky.calls.slice(-4)).toEqual(["close false", "session bad", "session good", "opened"]);
});

test("if the change cannot be undone, the capability has no part until the next handshake opens one", async () => {
  let isBroken = false;
  const picky = createLogging((part) => {
    if (isBroken) throw new Error("cannot read this");
    return part;
  });
  await using raw = await startRawHost([picky.plugin]);
  const peer = await handshake(raw);
  isBroken = true;
  await expect(rename(raw, peer, "bad", false)).rejects.toThrow("cannot read this");
  expect(await run(peer, "1")).toMatchObject({ code: "capability_missing" });
  isBroken = false;
  await peer.shakeHands();
  expect(await run(peer, "2")).toMatchObject({ value: "bad" });
});

test("leave() that fails is logged, and the ids of the other parts are reported", async () => {
  const leaving = createLogging((part) => ({ ...part, leave: () => ["request-1"] }));
  const failing = plugin(side, {
    session: () => ({ handlers: { run: echo }, leave: () => Promise.reject(new Error("mine")) }),
  });
  await using raw = await startRawHost([leaving.plugin, failing]);
  const { session } = await handshake(raw);
  const ids: string[] = [];
  await raw.inside(session).parts.leave(new AbortController().signal, (left) => ids.push(...left));
  expect(ids).toEqual(["request-1"]);
  expect(raw.log.entries).toMatchObject([{ message: "leave() of a plugin failed", fields: { plugin: "env" } }]);
});
