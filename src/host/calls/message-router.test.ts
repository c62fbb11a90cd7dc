import { expect, test } from "vitest";
import { plugin } from "../../plugin/plugin.ts";
import { A2EError } from "../../protocol/errors.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { createGate, probe, probePlugin, startRawHost } from "../session/raw-session.suite.ts";

test.each([
  ["{", "parse_error"],
  ["", "parse_error"],
  ["[]", "invalid_message"],
  ["7", "invalid_message"],
  ["null", "invalid_message"],
  ['"text"', "invalid_message"],
  ["{}", "schema_violation"],
  ['{"type":7}', "schema_violation"],
  ['{"type":""}', "schema_violation"],
])("the line %j is answered with one %s without req_id", async (line, code) => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  const before = peer.received.length;
  peer.session.receiveLine(line);
  await peer.settle();
  const answers = peer.received.slice(before, -1);
  expect(answers).toMatchObject([{ type: "error", code }]);
  expect(answers[0]).not.toHaveProperty("req_id");
});

test("a line longer than maxLineBytes is an invalid_message that names the limit, however it was cut", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxLineBytes: 200 } });
  const peer = await raw.open();
  peer.request("1", "x".repeat(300));
  peer.session.receiveTooLong();
  await peer.until(() => peer.received.length === 3);
  expect(peer.received.slice(1)).toMatchObject([
    { code: "invalid_message", detail: { limit: "maxLineBytes", max_bytes: 200 } },
    { code: "invalid_message", detail: { limit: "maxLineBytes" } },
  ]);
});

test("a message nested deeper than maxDepth is an invalid_message that keeps its req_id", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxDepth: 4 } });
  const peer = await raw.open();
  peer.send({ type: "test/run/req", id: "deep", data: { a: { b: { c: { d: {} } } } } });
  expect(await peer.answer("deep")).toMatchObject({ code: "invalid_message", detail: { limit: "maxDepth" } });
});

test("an id longer than maxIdLength is refused, since ids are kept", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxIdLength: 8 } });
  const peer = raw.connect();
  peer.send({ type: "ping", id: "123456789" });
  peer.send({ type: "ping", id: "12345678" });
  await peer.answer("12345678");
  expect(peer.received).toMatchObject([{ code: "schema_violation" }, { type: "pong" }]);
});

test.each(["handshake/resp", "pong", "error", "invoke/event", "session/closed", "test/run/resp"])(
  "%s is what a host sends and not what it takes: invalid_message",
  async (type) => {
    await using raw = await startRawHost();
    const peer = await raw.open();
    expect(await peer.ask("1", "", type)).toMatchObject({ type: "error", code: "invalid_message", req_id: "1" });
  },
);

test("a request of another major version is refused and names the one spoken here", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  peer.send({ type: "test/run/req", id: "1", version: "2.0" });
  expect(await peer.answer("1")).toMatchObject({ code: "version_mismatch", detail: { supported: "1.0" } });
});

test("a wrong field is a schema_violation that names it", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  peer.send({ type: "test/run/req", id: "1", name: 7 });
  expect(await peer.answer("1")).toMatchObject({
    code: "schema_violation",
    capability_name: "test",
    detail: { issues: [{ path: "name" }] },
  });
});

test("a request without an id runs and is answered", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  peer.send({ type: "test/run/req", name: "no id" });
  await peer.until(() => peer.received.length === 2);
  expect(peer.received[1]).toMatchObject({ value: "no id" });
});

test("a type of endless length is not echoed", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  const answer = await peer.ask("1", "", "x".repeat(10_000));
  expect(answer.code).toBe("unknown_type");
  expect(JSON.stringify(answer).length).toBeLessThan(500);
});

test("every outgoing message has type, id, ts and both version fields", async () => {
  const clock = createFakeClock();
  await using raw = await startRawHost(undefined, { clock });
  const peer = await raw.open();
  await peer.ask("1", "x");
  await peer.ask("2", "x", "nobody/knows");
  const ids = peer.received.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const message of peer.received)
    expect(message).toMatchObject({ type: expect.any(String), a2e: "1.0", version: "1.0", ts: clock.now() / 1000 });
});

test("the same id twice in flight runs once and is answered twice", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)]);
  const peer = await raw.open();
  for (let count = 0; count < 3; count++) peer.request("1", "a");
  gate.release("a");
  await peer.until(() => peer.answers("1").length === 3);
  expect(gate.started).toEqual(["a"]);
  expect(new Set(peer.answers("1").map(({ id }) => id)).size).toBe(1);
});

test("the same id while its call waits joins the waiting call", async () => {
  const gate = createGate();
  await using raw = await startRawHost([probePlugin(gate.run)], { limits: { maxParallelCalls: 1, maxQueuedCalls: 1 } });
  const peer = await raw.open();
  for (const id of ["1", "2", "2"]) peer.request(id, id);
  gate.release("1");
  await peer.answer("1");
  await peer.settle();
  gate.release("2");
  await peer.until(() => peer.answers("2").length === 2);
  expect(gate.started).toEqual(["1", "2"]);
});

test("an id that was answered is answered again with the same line and not run again, errors included", async () => {
  let runs = 0;
  await using raw = await startRawHost([
    probePlugin(({ name }) => {
      runs += 1;
      if (name === "fails") throw probe.error("probe_failed", `run ${runs}`);
      return { value: `run ${runs}` };
    }),
  ]);
  const peer = await raw.open();
  for (const id of ["works", "fails", "works", "fails"]) peer.request(id, id);
  await peer.until(() => peer.answers("fails").length === 2);
  expect(runs).toBe(2);
  for (const id of ["works", "fails"]) expect(peer.answers(id)[1]).toEqual(peer.answers(id)[0]);
});

test("a repeated id is answered even where what it repeats differs", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  await peer.ask("1", "first");
  peer.request("1", "second");
  await peer.until(() => peer.answers("1").length === 2);
  expect(peer.answers("1")[1]).toMatchObject({ value: "first" });
});

test("two sessions may use the same ids", async () => {
  await using raw = await startRawHost();
  const [one, other] = [await raw.open(), await raw.open()];
  expect(await one.ask("1", "a")).toMatchObject({ value: "a" });
  expect(await other.ask("1", "b")).toMatchObject({ value: "b" });
});

test("a handled call has one audit entry with every field", async () => {
  const clock = createFakeClock();
  await using raw = await startRawHost(
    [
      probePlugin(async ({ name }) => {
        clock.advance(25);
        return { value: name };
      }),
    ],
    { clock },
  );
  const peer = await raw.open({ agent_id: "me" });
  const answer = await peer.ask("1", "x");
  expect(raw.audit.slice(1)).toEqual([
    {
      ts: clock.now(),
      session_id: peer.session.info.handle,
      principal: "",
      chain: [],
      agent_id: "me",
      type: "test/run/req",
      capability: "test",
      req_id: "1",
      n: 2,
      correlation_id: "",
      success: true,
      error_code: "",
      duration_ms: 25,
      bytes_in: JSON.stringify({ type: "test/run/req", id: "1", version: "1.0", name: "x" }).length,
      bytes_out: JSON.stringify(answer).length,
      nested_calls: 0,
      rule: "",
    },
  ]);
});

test("an audit entry counts bytes, not characters", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  const answer = await peer.ask("1", "żółć 🦊");
  const line = JSON.stringify({ type: "test/run/req", id: "1", version: "1.0", name: "żółć 🦊" });
  expect(raw.audit.at(-1)).toMatchObject({
    bytes_in: Buffer.byteLength(line),
    bytes_out: Buffer.byteLength(JSON.stringify(answer)),
  });
});

test("refused, failed, cut off and core messages have one audit entry each, with their error code", async () => {
  const gate = createGate();
  await using raw = await startRawHost([
    probePlugin(gate.run, () => {
      throw new Error("defect");
    }),
  ]);
  const peer = raw.connect();
  peer.request("early");
  await peer.shakeHands();
  peer.session.receiveLine("{");
  await peer.ask("unknown", "", "nobody/knows");
  await peer.ask("failing", "", "test/other/req");
  peer.request("cut off", "a");
  peer.send({ type: "shutdown", id: "bye", timeout: 0 });
  await peer.until(() => peer.received.at(-1)?.type === "session/closed");
  expect(raw.audit.map(({ req_id, type, success, error_code }) => [req_id, type, success, error_code])).toEqual([
    ["early", "test/run/req", false, "unauthorized"],
    [expect.stringContaining("handshake"), "handshake/req", true, ""],
    ["", "", false, "parse_error"],
    ["unknown", "nobody/knows", false, "unknown_type"],
    ["failing", "test/other/req", false, "internal_error"],
    ["bye", "shutdown", true, ""],
    ["cut off", "test/run/req", false, "cancelled"],
  ]);
});

test("nested calls that went well, at any depth, are counted in the audit entry of their message", async () => {
  await using raw = await startRawHost([
    probePlugin(
      async ({ name }, context) => {
        await context.call(probe.calls.other, { name: "first" });
        return name === "inner" ? { value: name } : context.call(probe.calls.run, { name: "inner" });
      },
      ({ name }) => (name === "first" ? { value: name } : Promise.resolve({ value: name })),
    ),
  ]);
  const peer = await raw.open();
  await peer.ask("1");
  await peer.ask("2", "inner");
  expect(raw.audit.slice(1).map(({ req_id, nested_calls }) => [req_id, nested_calls])).toEqual([
    ["1", 3],
    ["2", 1],
  ]);
});

test("a nested call that fails has an audit entry of its own, and so has one in the background", async () => {
  const begins = plugin(probe, {
    session: (session) => ({
      handlers: {
        async run(_, context) {
          await context.call(probe.calls.other, { name: "good" });
          await context.call(probe.calls.other, { name: "bad" }).catch(() => {});
          return session.call(probe.calls.other, { name: "behind" });
        },
        async other({ name }, context) {
          if (name === "again") return { value: name };
          await context.call(probe.calls.other, { name: "again" });
          if (name === "bad") throw probe.error("probe_failed", "bad");
          return { value: name };
        },
      },
    }),
  });
  await using raw = await startRawHost([begins]);
  const peer = await raw.open();
  await peer.ask("1");
  expect(raw.audit.slice(1).map(({ type, error_code, nested_calls }) => [type, error_code, nested_calls])).toEqual([
    ["test/other/req", "probe_failed", 1],
    ["test/other/req", "", 1],
    ["test/run/req", "", 2],
  ]);
});

test("session_id_source host_id puts the host's id in place of the session's", async () => {
  await using raw = await startRawHost(undefined, { hostId: "host-7", auditSessionIdSource: "host_id" });
  const peer = await raw.open();
  await peer.ask("1");
  expect(raw.audit.map(({ session_id }) => session_id)).toEqual(["host-7", "host-7"]);
});

test("an audit log that throws fails no call, blocks no queue, and is reported once", async () => {
  const gate = createGate();
  const audit = {
    record() {
      throw new Error("disk is full");
    },
    close: () => Promise.reject(new Error("still full")),
  };
  await using raw = await startRawHost([probePlugin(gate.run)], { audit, limits: { maxParallelCalls: 1 } });
  const peer = await raw.open();
  for (const name of ["a", "b"]) peer.request(name, name);
  await peer.ask("refused", "", "nobody/knows");
  gate.release("a");
  await peer.answer("a");
  await peer.settle();
  gate.release("b");
  expect(await peer.answer("b")).toMatchObject({ value: "b" });
  await raw.host.close(0);
  expect(raw.log.entries.filter(({ message }) => message === "the audit log failed")).toHaveLength(1);
});

test("the log never has a whole session id or a token", async () => {
  await using raw = await startRawHost(
    [
      probePlugin(() => {
        throw new A2EError("no such code", "x");
      }),
    ],
    { authToken: "very-secret-token" },
  );
  const peer = await raw.open({ auth_token: "very-secret-token" });
  await peer.ask("1");
  await peer.session.close();
  const text = JSON.stringify(raw.log.entries);
  expect(raw.log.entries.length).toBeGreaterThan(0);
  expect(text).not.toContain(peer.session.id);
  expect(text).not.toContain("very-secret-token");
});
