import { expect, test } from "vitest";
import { plugin } from "../../plugin/plugin.ts";
import { echo, probe, probePlugin, RawPeer, side, sidePlugin, startRawHost } from "./raw-session.suite.ts";

test("the right token opens the session", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret" });
  const answer = await raw.connect().shakeHands({ auth_token: "secret" });
  expect(answer).toMatchObject({ type: "handshake/resp", ok: true, reason: "", max_parallel: 4 });
});

test.each(["wrong", "secret ", "Secret", "", "secre"])("the token %j is answered with auth_failed", async (token) => {
  await using raw = await startRawHost(undefined, { authToken: "secret" });
  const peer = raw.connect();
  expect(await peer.shakeHands({ auth_token: token })).toMatchObject({
    ok: false,
    reason: "auth_failed",
    accepted_caps: [],
  });
  expect(await peer.ask("1")).toMatchObject({ type: "error", code: "unauthorized" });
});

test("a bearer token of the transport stands in for one that the handshake lacks", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret" });
  const peer = raw.connect();
  peer.session.bearerToken = "secret";
  expect(await peer.shakeHands({})).toMatchObject({ ok: true });
});

test("a wrong token in the handshake is not healed by the right bearer token", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret" });
  const peer = raw.connect();
  peer.session.bearerToken = "secret";
  expect(await peer.shakeHands({ auth_token: "wrong" })).toMatchObject({ ok: false, reason: "auth_failed" });
});

test.each([{ version: "2.0" }, { version: undefined, a2e: "0.9" }])(
  "a handshake of another major version is answered with version_mismatch: %j",
  async (versions) => {
    await using raw = await startRawHost();
    expect(await raw.connect().shakeHands(versions)).toMatchObject({ ok: false, reason: "version_mismatch" });
  },
);

test.each([{ version: "1.7" }, { version: undefined, a2e: undefined }, { version: undefined, a2e: "1.0" }])(
  "another minor version and none at all are welcome: %j",
  async (versions) => {
    await using raw = await startRawHost();
    expect(await raw.connect().shakeHands(versions)).toMatchObject({ ok: true });
  },
);

test("an agent that asks only for capabilities the host lacks is answered with no_caps", async () => {
  await using raw = await startRawHost();
  expect(await raw.connect().shakeHands({ agent_caps: ["memory", "proc"] })).toMatchObject({
    ok: false,
    reason: "no_caps",
  });
});

test.each([[[]], [["streaming", "artifacts"]]])(
  "an agent that asks for no capability of the protocol is welcome: %j",
  async (agent_caps) => {
    await using raw = await startRawHost();
    expect(await raw.connect().shakeHands({ agent_caps })).toMatchObject({ ok: true });
  },
);

test("an authentication that throws is answered with server_error, and the log has the cause", async () => {
  await using raw = await startRawHost(undefined, {
    authenticate: () => {
      throw new Error("directory is down");
    },
  });
  expect(await raw.connect().shakeHands()).toMatchObject({ ok: false, reason: "server_error" });
  expect(raw.log.entries).toContainEqual(expect.objectContaining({ level: "error" }));
});

test("accepted_caps say who serves each capability, with name, type, priority and exclusive", async () => {
  await using raw = await startRawHost([{ plugin: probePlugin(), name: "my probe", priority: 7, exclusive: true }]);
  const answer = await raw.connect().shakeHands({ agent_caps: ["test"] });
  expect(answer.accepted_caps).toEqual([
    {
      capability: "test",
      enabled: true,
      metadata: { name: "my probe", type: "test", priority: 7, exclusive: true },
    },
  ]);
});

test("a capability of the protocol that the host lacks is there, off, and with a reason", async () => {
  await using raw = await startRawHost();
  const answer = await raw.connect().shakeHands({ agent_caps: ["test", "memory"] });
  expect(answer.accepted_caps).toEqual([
    expect.objectContaining({ capability: "test", enabled: true }),
    { capability: "memory", enabled: false, metadata: { reason: expect.stringContaining("memory") } },
  ]);
});

test("an SDK peer is never shown a name outside its enum", async () => {
  await using raw = await startRawHost();
  const agent_caps = ["streaming", "test", "nonsense", "skills", "__proto__"];
  const answer = await raw.connect().shakeHands({ a2e: undefined, agent_caps });
  expect(answer.accepted_caps).toEqual([
    expect.objectContaining({ capability: "test" }),
    { capability: "skill", enabled: false, metadata: expect.objectContaining({ alias: "skills" }) },
  ]);
});

test("a peer of the documentation's dialect gets its own spelling back", async () => {
  await using raw = await startRawHost();
  const peer = raw.connect();
  const answer = await peer.shakeHands({ version: undefined, agent_caps: ["Test", "subagents"] });
  expect(answer.accepted_caps).toMatchObject([
    { capability: "Test", enabled: true, metadata: { alias: "Test" } },
    { capability: "subagents", enabled: false },
  ]);
  expect(await peer.ask("1", "served")).toMatchObject({ value: "served" });
});

test("a peer that sends both version fields reads canonical names and foreign ones, with the asked name as alias", async () => {
  await using raw = await startRawHost();
  const answer = await raw.connect().shakeHands({ agent_caps: ["learn", "test", "streaming"] });
  expect(answer.accepted_caps).toMatchObject([
    { capability: "learning", enabled: false, metadata: { alias: "learn" } },
    { capability: "test", enabled: true },
    { capability: "streaming", enabled: false },
  ]);
});

test("one capability asked for in several spellings is listed once, granted or not", async () => {
  await using raw = await startRawHost();
  const agent_caps = ["test", "TEST", "test", "skills", "skill"];
  const answer = await raw.connect().shakeHands({ agent_caps });
  expect((answer.accepted_caps as { capability: string }[]).map((cap) => cap.capability)).toEqual(["test", "skill"]);
});

test("two plugins of one capability make one entry: that of the first in order", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(), name: "low", priority: 1 },
    { plugin: probePlugin(), name: "high", priority: 2 },
  ]);
  const answer = await raw.connect().shakeHands({ agent_caps: ["test"] });
  expect(answer.accepted_caps).toMatchObject([{ capability: "test", metadata: { name: "high" } }]);
});

test("a repeated handshake is idempotent: same session id, same grants, plugins opened once", async () => {
  let opened = 0;
  const inner = probePlugin();
  const counting: typeof inner = {
    ...inner,
    session(context) {
      opened += 1;
      return inner.session(context);
    },
  };
  await using raw = await startRawHost([counting]);
  const peer = raw.connect();
  const first = await peer.shakeHands({ agent_caps: ["test"] });
  const second = await peer.shakeHands({ agent_caps: ["test"] });
  expect(second.session_id).toBe(first.session_id);
  expect(second.session_id).toBe(peer.session.id);
  expect(second.accepted_caps).toEqual(first.accepted_caps);
  expect(opened).toBe(1);
});

test("a second handshake adds capabilities and takes none away", async () => {
  await using raw = await startRawHost([probePlugin(), sidePlugin()]);
  const peer = raw.connect();
  await peer.shakeHands({ agent_caps: ["test"] });
  expect(await peer.ask("1", "x", "env/run/req")).toMatchObject({ code: "capability_missing" });
  await peer.shakeHands({ agent_caps: ["env"] });
  expect(await peer.ask("2", "x", "env/run/req")).toMatchObject({ value: "x" });
  expect(await peer.ask("3", "y")).toMatchObject({ value: "y" });
  expect(peer.session.summary().capabilities).toEqual(["test", "env"]);
});

test("another agent cannot take over an open session by its id", async () => {
  await using raw = await startRawHost();
  const peer = raw.connect();
  await peer.shakeHands({ agent_id: "owner" });
  expect(await peer.shakeHands({ agent_id: "thief" })).toMatchObject({ ok: false, reason: "auth_failed" });
  expect(peer.session.info.principal.agentId).toBe("owner");
  expect(await peer.ask("1", "still mine")).toMatchObject({ value: "still mine" });
});

test("a session that could be opened only in part is still the first agent's", async () => {
  let attempts = 0;
  const failing = plugin(side, {
    session() {
      attempts += 1;
      if (attempts === 1) throw new Error("not yet");
      return { handlers: { run: echo } };
    },
  });
  await using raw = await startRawHost([probePlugin(), failing]);
  const peer = raw.connect();
  const agent_caps = ["test", "env"];
  expect(await peer.shakeHands({ agent_id: "owner", agent_caps })).toMatchObject({ reason: "server_error" });
  expect(await peer.shakeHands({ agent_id: "thief", agent_caps })).toMatchObject({ reason: "auth_failed" });
  expect(await peer.shakeHands({ agent_id: "owner", agent_caps })).toMatchObject({ ok: true });
});

test("a handshake under an id that was answered is answered again, not evaluated again", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret", limits: { maxHandshakeAttempts: 2 } });
  const peer = raw.connect();
  const message = { type: "handshake/req", id: "same", agent_id: "agent", auth_token: "wrong" };
  for (let attempt = 0; attempt < 5; attempt++) peer.send(message);
  await peer.until(() => peer.answers("same").length === 5);
  expect(peer.session.status).toBe("new");
});

test("maxHandshakeAttempts failures close the session", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret", limits: { maxHandshakeAttempts: 2 } });
  const peer = raw.connect();
  await peer.shakeHands({ auth_token: "a" });
  expect(peer.session.status).toBe("new");
  await peer.shakeHands({ auth_token: "b" });
  await peer.until(() => peer.received.some((message) => message.type === "session/closed"));
  await expect.poll(() => raw.host.sessions.size).toBe(0);
});

test("guesses that come in one turn with the last allowed one are refused, even the right one", async () => {
  await using raw = await startRawHost(undefined, { authToken: "secret", limits: { maxHandshakeAttempts: 2 } });
  const peer = raw.connect();
  for (const [index, auth_token] of ["a", "b", "c", "secret"].entries())
    peer.send({ type: "handshake/req", id: `${index}`, agent_id: "agent", auth_token });
  expect(await peer.answer("3")).toMatchObject({ ok: false });
  expect(peer.session.status).not.toBe("open");
});

test.each([{ agent_caps: "test" }, { agent_caps: [1] }, { agent_caps: null }, { agent_id: 7 }, { auth_token: {} }])(
  "a handshake of the wrong shape is a schema_violation: %j",
  async (fields) => {
    await using raw = await startRawHost();
    expect(await raw.connect().shakeHands(fields)).toMatchObject({ type: "error", code: "schema_violation" });
  },
);

test("the granted capability is the one that is served", async () => {
  await using raw = await startRawHost([probePlugin(), sidePlugin()]);
  const peer = new RawPeer(raw.host.sessions.create());
  await peer.shakeHands({ agent_caps: ["test"] });
  expect(await peer.ask("1", "yes", probe.calls.run.type)).toMatchObject({ type: "test/run/resp", value: "yes" });
});
