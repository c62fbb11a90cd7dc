import { expect, test, vi } from "vitest";
import { plugin, type SessionPart } from "../../plugin/plugin.ts";
import { gap } from "../../protocol/core.ts";
import { createGate, echo, probe, probePlugin, RawPeer, side, sidePlugin, startRawHost } from "./raw-session.suite.ts";

/** A probe whose sessions open when the test says so. */
function slowProbe(part: Partial<SessionPart> = {}) {
  const openings: { resolve(): void; reject(error: Error): void }[] = [];
  const slow = plugin(probe, {
    session: () =>
      new Promise((resolve, reject) => {
        const opened = { ...part, handlers: { run: echo, other: echo } };
        openings.push({ resolve: () => resolve(opened as never), reject });
      }),
  });
  return { slow, openings };
}

test("before the handshake only handshake and ping are served", async () => {
  await using raw = await startRawHost();
  const peer = raw.connect();
  for (const type of ["test/run/req", "invoke/cancel/req", "session/snapshot/req", "session/snapshots/req"])
    expect(await peer.ask(type, "x", type)).toMatchObject({ type: "error", code: "unauthorized", req_id: type });
  peer.send({ type: "ping", id: "p" });
  expect(await peer.answer("p")).toMatchObject({ type: "pong", uptime_seconds: expect.any(Number) });
});

test("a type that no capability has is unknown_type, before and after the handshake", async () => {
  await using raw = await startRawHost();
  const peer = raw.connect();
  expect(await peer.ask("1", "", "nobody/knows/req")).toMatchObject({ code: "unknown_type" });
  await peer.shakeHands();
  expect(await peer.ask("2", "", "__proto__")).toMatchObject({ code: "unknown_type" });
});

test("a capability that was not negotiated is capability_missing, and the answer names it", async () => {
  await using raw = await startRawHost([probePlugin(), sidePlugin()]);
  const peer = await raw.open({ agent_caps: ["test"] });
  expect(await peer.ask("1", "", "env/run/req")).toMatchObject({ code: "capability_missing", capability_name: "env" });
});

test("without a required handshake an agent that just talks is served with everything", async () => {
  await using raw = await startRawHost([probePlugin(), sidePlugin()], { isHandshakeRequired: false });
  const peer = raw.connect();
  expect(await peer.ask("1", "a")).toMatchObject({ value: "a" });
  expect(await peer.ask("2", "b", "env/run/req")).toMatchObject({ value: "b" });
});

test("a handshake that is not required does not make the token so", async () => {
  await using raw = await startRawHost(undefined, { isHandshakeRequired: false, authToken: "secret" });
  const stranger = raw.connect();
  expect(await stranger.ask("1", "a")).toMatchObject({ code: "unauthorized" });
  const friend = raw.connect();
  friend.session.bearerToken = "secret";
  expect(await friend.ask("1", "a")).toMatchObject({ value: "a" });
});

test("without a required handshake a slow plugin is opened once, and what came meanwhile is served in order", async () => {
  const { slow, openings } = slowProbe();
  await using raw = await startRawHost([slow], { isHandshakeRequired: false });
  const peer = raw.connect();
  for (const id of ["1", "2", "3"]) peer.request(id, id);
  await peer.settle();
  expect(openings).toHaveLength(1);
  openings[0]?.resolve();
  await peer.answer("3");
  expect(peer.received.filter((message) => message.type === "test/run/resp").map(({ req_id }) => req_id)).toEqual([
    "1",
    "2",
    "3",
  ]);
});

test("messages that come while plugins open wait, and are answered in order after the handshake", async () => {
  const { slow, openings } = slowProbe();
  await using raw = await startRawHost([slow]);
  const peer = raw.connect();
  const opened = peer.shakeHands();
  for (const id of ["1", "2", "3"]) peer.request(id, id);
  peer.session.receiveLine("not json");
  peer.request("4", "4");
  await peer.settle();
  expect(peer.received.map((message) => message.type)).toEqual(["pong"]);
  openings[0]?.resolve();
  expect(await opened).toMatchObject({ ok: true });
  await peer.answer("4");
  expect(peer.received.map((message) => message.type)).toEqual([
    "pong",
    "handshake/resp",
    "test/run/resp",
    "test/run/resp",
    "test/run/resp",
    "error",
    "test/run/resp",
  ]);
});

test("messages that wait for plugins are as many as maxQueuedCalls allows; more are rate_limited", async () => {
  const { slow, openings } = slowProbe();
  await using raw = await startRawHost([slow], { limits: { maxQueuedCalls: 2 } });
  const peer = raw.connect();
  void peer.shakeHands();
  for (const id of ["1", "2", "3"]) peer.request(id, id);
  expect(await peer.answer("3")).toMatchObject({
    code: "rate_limited",
    detail: { retry_after_ms: expect.any(Number) },
  });
  openings[0]?.resolve();
  expect(await peer.answer("2")).toMatchObject({ value: "2" });
});

test("a message object that waits for plugins is a copy, and one without a JSON form is refused, not thrown back", async () => {
  const { slow, openings } = slowProbe();
  await using raw = await startRawHost([slow]);
  const peer = raw.connect();
  void peer.shakeHands();
  const message = { type: "test/run/req", id: "1", name: "as sent" };
  peer.session.receiveMessage(message);
  message.name = "changed afterwards";
  const cyclic: Record<string, unknown> = { type: "test/run/req", id: "2" };
  cyclic.data = cyclic;
  peer.session.receiveMessage(cyclic);
  expect(await peer.answer("2")).toMatchObject({ code: "schema_violation" });
  openings[0]?.resolve();
  expect(await peer.answer("1")).toMatchObject({ value: "as sent" });
});

test.each(["throws", "rejects", "resolves with nothing", "returns nothing", "resolves without handlers"])(
  "a plugin whose session %s is server_error, and the next handshake may succeed",
  async (how) => {
    let isBroken = true;
    const part = { handlers: { run: echo, other: echo } };
    const broken = plugin(probe, {
      session: () => {
        if (!isBroken) return part;
        if (how === "throws") throw new Error("no database");
        if (how === "rejects") return Promise.reject(new Error("no database"));
        if (how === "resolves with nothing") return Promise.resolve(undefined as never);
        if (how === "resolves without handlers") return Promise.resolve({} as never);
        return undefined as never;
      },
    });
    await using raw = await startRawHost([broken]);
    const peer = raw.connect();
    expect(await peer.shakeHands()).toMatchObject({ ok: false, reason: "server_error", accepted_caps: [] });
    expect(await peer.ask("1")).toMatchObject({ code: "unauthorized" });
    expect(raw.log.entries).toContainEqual(expect.objectContaining({ message: "a plugin could not open a session" }));
    isBroken = false;
    expect(await peer.shakeHands()).toMatchObject({ ok: true });
    expect(await peer.ask("2", "x")).toMatchObject({ value: "x" });
  },
);

test("a thenable of another library opens a session as a promise does", async () => {
  const part = { handlers: { run: echo, other: echo } };
  // biome-ignore lint/suspicious/noThenProperty: this is what a foreign promise looks like
  const foreign = { then: (resolve: (opened: unknown) => void) => resolve(part) };
  await using raw = await startRawHost([plugin(probe, { session: () => foreign as never })]);
  const peer = await raw.open();
  expect(await peer.ask("1", "x")).toMatchObject({ value: "x" });
});

test("where one plugin throws while another is still opening, the second try does not open the other twice", async () => {
  const { slow, openings } = slowProbe();
  let isBroken = true;
  const broken = plugin(side, {
    session: () => {
      if (isBroken) throw new Error("not today");
      return { handlers: { run: echo } };
    },
  });
  await using raw = await startRawHost([slow, broken]);
  const peer = raw.connect();
  const first = peer.shakeHands();
  await peer.settle();
  expect(peer.received.map(({ type }) => type)).toEqual(["pong"]);
  openings[0]?.resolve();
  expect(await first).toMatchObject({ ok: false, reason: "server_error" });
  isBroken = false;
  expect(await peer.shakeHands()).toMatchObject({ ok: true });
  expect(openings).toHaveLength(1);
});

test("where one plugin throws and another rejects later, nothing is left unhandled", async () => {
  const { slow, openings } = slowProbe();
  const broken = plugin(side, {
    session: () => {
      throw new Error("not today");
    },
  });
  await using raw = await startRawHost([slow, broken]);
  const peer = raw.connect();
  const answer = peer.shakeHands();
  await peer.settle();
  openings[0]?.reject(new Error("nor me"));
  expect(await answer).toMatchObject({ ok: false, reason: "server_error" });
});

test("a session closed while its plugins open answers whoever waits, and closes what opens later", async () => {
  const close = vi.fn();
  const { slow, openings } = slowProbe({ close });
  await using raw = await startRawHost([slow]);
  const peer = raw.connect();
  peer.send({ type: "handshake/req", id: "h", agent_caps: ["test"] });
  peer.request("1");
  peer.session.receiveLine("[]");
  await peer.session.close("deleted");
  peer.read();
  expect(peer.answers("h")).toMatchObject([{ code: "cancelled" }]);
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled" }]);
  expect(peer.received.filter((message) => message.type === "error")).toHaveLength(3);
  openings[0]?.resolve();
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
  expect(peer.session.status).toBe("closed");
});

test("what comes while a session drains that is still opening is refused at once, and the handshake may finish", async () => {
  const { slow, openings } = slowProbe();
  await using raw = await startRawHost([slow]);
  const peer = raw.connect();
  peer.send({ type: "handshake/req", id: "h", agent_caps: ["test"] });
  const closed = peer.session.close("deleted", 60_000);
  expect(await peer.ask("1")).toMatchObject({ code: "cancelled" });
  openings[0]?.resolve();
  expect(await peer.answer("h")).toMatchObject({ ok: true });
  await closed;
  expect(peer.session.status).toBe("closed");
});

test("shutdown lets calls in flight finish, also those in the queue, and closes with nothing cut off", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1 } });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.request("2", "b");
  peer.send({ type: "shutdown", id: "s", timeout: 60 });
  expect(peer.session.status).toBe("closing");
  gate.release("a");
  await peer.answer("1");
  await vi.waitFor(() => expect(gate.started).toEqual(["a", "b"]));
  gate.release("b");
  await peer.until(() => peer.received.at(-1)?.type === "session/closed");
  expect(peer.answers("2")).toMatchObject([{ value: "b" }]);
  expect(peer.received.at(-1)).toMatchObject({ reason: "shutdown", cut_off: [] });
  expect(peer.answers("s")).toEqual([]);
});

test("new calls, handshakes included, are refused while a session drains; ping is not", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "s", timeout: 60 });
  expect(await peer.ask("2", "b")).toMatchObject({ code: "cancelled" });
  expect(await peer.shakeHands({ agent_id: "thief" })).toMatchObject({ type: "error", code: "cancelled" });
  expect(peer.session.info.principal.agentId).toBe("agent");
  await peer.settle();
  gate.release("a");
  expect(await peer.answer("1")).toMatchObject({ value: "a" });
});

test("a call in flight may still call others while its session drains", async () => {
  const gate = createGate();
  await using raw = await startRawHost([
    probePlugin(async (request, context) => {
      await gate.run(request, context);
      return context.call(probe.calls.other, { name: "nested" });
    }),
  ]);
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "s", timeout: 60 });
  gate.release("a");
  expect(await peer.answer("1")).toMatchObject({ value: "nested" });
});

test("what a shutdown cuts off is answered with cancelled and named in the report", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1 } });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.request("2", "b");
  peer.send({ type: "shutdown", id: "s", timeout: 0.01 });
  await peer.until(() => peer.received.at(-1)?.type === "session/closed");
  expect(peer.received.at(-1)?.cut_off).toEqual(expect.arrayContaining(["1", "2"]));
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled" }]);
  expect(peer.answers("2")).toMatchObject([{ code: "cancelled" }]);
  expect(gate.contexts.get("a")?.signal.reason).toMatchObject({ code: "cancelled" });
});

test.each([{ timeout: -1 }, { timeout: "soon" }, { timeout: null }])(
  "a shutdown of the wrong shape is refused and ends nothing: %j",
  async (fields) => {
    await using raw = await startRawHost();
    const peer = await raw.open();
    peer.send({ type: "shutdown", id: "s", ...fields });
    expect(await peer.answer("s")).toMatchObject({ code: "schema_violation" });
    expect(peer.session.status).toBe("open");
  },
);

test("a shutdown cannot ask for more than maxCallTimeoutMs", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxCallTimeoutMs: 10 } });
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "s", timeout: 1e9 });
  await peer.until(() => peer.received.at(-1)?.type === "session/closed");
  expect(peer.received.at(-1)).toMatchObject({ cut_off: ["1"] });
});

test("closing twice is closing once", async () => {
  const close = vi.fn();
  await using raw = await startRawHost([probePlugin(echo, echo, { close })]);
  const peer = await raw.open();
  await Promise.all([peer.session.close("once"), peer.session.close("twice")]);
  await peer.session.close();
  peer.read();
  expect(close).toHaveBeenCalledOnce();
  expect(peer.received.filter((message) => message.type === "session/closed")).toMatchObject([{ reason: "once" }]);
});

test("whoever is in more of a hurry shortens a drain, and nobody lengthens it", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "long", timeout: 3600 });
  peer.send({ type: "shutdown", id: "longer", timeout: 7200 });
  peer.send({ type: "shutdown", id: "at once", timeout: 0 });
  await peer.until(() => peer.received.some(({ type }) => type === "session/closed"));
  expect(peer.answers("1")).toMatchObject([{ code: "cancelled" }]);
  expect(peer.received.at(-1)).toMatchObject({ reason: "shutdown", cut_off: ["1"] });
});

test("a session that drains for long is deleted at once", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  peer.send({ type: "shutdown", id: "long", timeout: 3600 });
  expect(await raw.host.sessions.delete(peer.session.id)).toBe(true);
  expect(peer.session.status).toBe("closed");
});

test("a plugin that cannot close a session is logged, and the others are closed all the same", async () => {
  const close = vi.fn();
  const throwing = probePlugin(echo, echo, {
    close: () => {
      throw new Error("no");
    },
  });
  const other = plugin(side, { session: () => ({ handlers: { run: echo }, close }) });
  await using raw = await startRawHost([throwing, other]);
  const peer = await raw.open();
  await peer.session.close();
  expect(close).toHaveBeenCalledOnce();
  expect(raw.log.entries).toContainEqual(expect.objectContaining({ message: "a plugin could not close a session" }));
});

test("a plugin that never finishes closing a session is left behind", async () => {
  await using raw = await startRawHost([probePlugin(echo, echo, { close: () => new Promise(() => {}) })]);
  const peer = await raw.open();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const closed = peer.session.close();
    await vi.advanceTimersByTimeAsync(60_000);
    await closed;
  } finally {
    vi.useRealTimers();
  }
  expect(raw.host.sessions.size).toBe(0);
});

test("a closed session takes no line, no reader and no transport", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  await peer.session.close();
  const { lastSeq } = peer.session;
  peer.request("1");
  peer.session.receiveTooLong();
  expect(peer.session.lastSeq).toBe(lastSeq);
  expect(() => peer.session.attach(0, () => {})).toThrow("closed");
  expect(() => peer.session.bindTransport({ deliver() {}, closed() {} })).toThrow("closed");
  await expect(peer.session.stream().next()).rejects.toThrow("closed");
});

test("listeners hear of the close once, at once where it is over, and not when they have left", async () => {
  await using raw = await startRawHost();
  const { session } = await raw.open();
  const heard: string[] = [];
  session.onClosed(() => heard.push("stayed"));
  session.onClosed(() => heard.push("left"))();
  await session.close();
  session.onClosed(() => heard.push("late"));
  expect(heard).toEqual(["stayed", "late"]);
});

test("a stream gives every line in order, from where it is told, and ends with the session", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  for (const id of ["1", "2", "3"]) await peer.ask(id, id);
  const seqs: number[] = [];
  const all = (async () => {
    for await (const { seq } of peer.session.stream({ from: 2 })) seqs.push(seq);
  })();
  await peer.session.close();
  await all;
  expect(seqs).toEqual([3, 4, 5]);
});

test("an aborted stream stops reading and leaves the session alone", async () => {
  await using raw = await startRawHost();
  const session = raw.host.sessions.create();
  const controller = new AbortController();
  const all = (async () => {
    for await (const _ of session.stream({ signal: controller.signal }));
  })();
  expect(session.readerCount).toBe(1);
  controller.abort();
  await all;
  expect(session.readerCount).toBe(0);
  expect(session.status).toBe("new");
});

test("a stream reads in pieces of about maxReaderBytes and loses nothing between them", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxReaderBytes: 1 } });
  const peer = await raw.open();
  for (const id of ["1", "2", "3"]) await peer.ask(id, id);
  const seqs: number[] = [];
  for await (const { seq } of peer.session.stream()) if (seqs.push(seq) === 4) break;
  expect(seqs).toEqual([1, 2, 3, 4]);
});

test("a plugin may push without being asked, in the shape of its table, until the session is closed", async () => {
  let say: ((text: string) => void) | undefined;
  const pushing = plugin(probe, {
    session: ({ push }) => {
      say = (text) => push(gap, text === "bad" ? ({} as never) : { from: 1, to: 2 });
      return { handlers: { run: echo, other: echo } };
    },
  });
  await using raw = await startRawHost([pushing]);
  const peer = await raw.open();
  say?.("good");
  await peer.until(() => peer.received.some((message) => message.type === "session/gap"));
  expect(() => say?.("bad")).toThrow();
  await peer.session.close();
  const { lastSeq } = peer.session;
  say?.("good");
  expect(peer.session.lastSeq).toBe(lastSeq);
});

test("a summary names the session by its handle, with its principal, agent, status and calls", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  peer.request("1", "a");
  new RawPeer(peer.session);
  expect(peer.session.summary()).toMatchObject({
    handle: peer.session.info.handle,
    principal: "",
    agent_id: "agent",
    status: "open",
    capabilities: ["test"],
    calls_in_flight: 1,
    readers: 2,
  });
});
