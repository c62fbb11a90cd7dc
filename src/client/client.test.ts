// Connecting, listening and leaving. Calls are in calls.test.ts, the same against a real host in client-and-host.test.ts.
import { afterEach, describe, expect, test, vi } from "vitest";
import { gap, ping } from "../protocol/core.ts";
import { watchResources } from "../testing/leaks.ts";
import { A2EClient } from "./client.ts";
import { connectFake, FakePeer } from "./fake-transport.suite.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("connecting", () => {
  test("opens the transport, shakes hands and stores what the host granted", async () => {
    const peer = new FakePeer();
    peer.handshakeAnswer = {
      session_id: "s",
      max_parallel: 2,
      accepted_caps: [{ capability: "tools" }, { capability: "env", enabled: false, metadata: { reason: "absent" } }],
    };
    const options = { agentId: "me", authToken: "secret", capabilities: ["tools", "env"], transport: peer.transport };
    await using client = await A2EClient.connect(options);
    expect(peer.sent[0]).toMatchObject({
      type: "handshake/req",
      a2e: "1.0",
      version: "1.0",
      agent_id: "me",
      agent_caps: ["tools", "env"],
      auth_token: "secret",
    });
    expect(client.isConnected).toBe(true);
    expect([client.sessionId, client.maxParallel]).toEqual(["s", 2]);
    expect(client.capabilities()).toEqual([{ capability: "tools", enabled: true, metadata: {} }]);
    expect(client.acceptedCaps()).toHaveLength(2);
    expect([
      client.has("tools"),
      client.has("tool"),
      client.has("TOOLS"),
      client.has("env"),
      client.has("memory"),
    ]).toEqual([true, true, true, false, false]);
  });

  test("an agent without a name gets a generated name, and asks for all capabilities of the protocol", async () => {
    const { client, peer } = await connectFake();
    expect(client.agentId).not.toBe("");
    expect(peer.sent[0]?.agent_caps).toContain("multi_agent");
    await client.disconnect();
  });

  test("a refused handshake rejects with the reason and closes the link", async () => {
    const peer = new FakePeer();
    peer.handshakeAnswer = { ok: false, reason: "auth_failed" };
    const client = new A2EClient({ transport: peer.transport });
    await expect(client.connect()).rejects.toMatchObject({
      code: "handshake_failed",
      message: "Handshake failed: auth_failed",
    });
    expect(client.isConnected).toBe(false);
    expect(peer.closeCount).toBe(1);
    await expect(client.rpc(ping, {})).rejects.toMatchObject({ code: "connection_lost" });
  });

  test("a handshake answered with an error rejects with it", async () => {
    const peer = new FakePeer();
    peer.handshakeAnswer = undefined;
    const connecting = A2EClient.connect({ transport: peer.transport });
    await vi.waitFor(() => expect(peer.sent).toHaveLength(1));
    peer.answer(peer.last, "error", { code: "version_mismatch", message: "1.0 only" });
    await expect(connecting).rejects.toMatchObject({ name: "A2EClientError", code: "version_mismatch" });
    expect(peer.closeCount).toBe(1);
  });

  test("a transport that does not open rejects with its reason", async () => {
    const peer = new FakePeer();
    peer.openError = new Error("refused");
    await expect(A2EClient.connect({ transport: peer.transport })).rejects.toBe(peer.openError);
  });

  test("connecting twice is refused and does the first no harm", async () => {
    const { client, peer } = await connectFake();
    await expect(client.connect()).rejects.toMatchObject({ code: "not_connected" });
    expect(client.isConnected).toBe(true);
    await client.disconnect();
    await expect(client.connect()).rejects.toMatchObject({ code: "not_connected" });
    expect(peer.sentOf("handshake/req")).toHaveLength(1);
  });

  test("calling before connecting throws an error that names connect()", async () => {
    const client = new A2EClient({ transport: new FakePeer().transport });
    await expect(client.rpc(ping, {})).rejects.toMatchObject({ code: "not_connected", message: "connect first" });
  });

  test("a client that was disconnected before it connected stays so", async () => {
    const peer = new FakePeer();
    const client = new A2EClient({ transport: peer.transport });
    await client.disconnect();
    await expect(client.connect()).rejects.toMatchObject({ code: "not_connected" });
    expect(peer.sent).toEqual([]);
  });

  test("disconnecting during the handshake ends the attempt", async () => {
    const peer = new FakePeer();
    peer.handshakeAnswer = undefined;
    const client = new A2EClient({ transport: peer.transport });
    const connecting = client.connect();
    await vi.waitFor(() => expect(peer.sent).toHaveLength(1));
    await client.disconnect();
    await expect(connecting).rejects.toMatchObject({ code: "connection_lost" });
  });
});

describe("messages that answer no call", () => {
  test("reach the handlers of their type and those of all, until they are taken away", async () => {
    const { client, peer } = await connectFake();
    const seen: string[] = [];
    const stop = client.onPush(gap, (message) => seen.push(`gap ${message.from}`));
    client.onPush("*", (message) => seen.push(`any ${message.type}`));
    peer.say("session/gap", { from: 1, to: 2 });
    peer.say("env/state/push");
    stop();
    stop();
    peer.say("session/gap", { from: 3, to: 4 });
    expect(seen).toEqual(["gap 1", "any session/gap", "any env/state/push", "any session/gap"]);
    await client.disconnect();
  });

  test("are given to each handler as a copy, so that no handler can change another's", async () => {
    const { client, peer } = await connectFake();
    client.onPush("x/push", (message) => {
      (message.data as { a: number }).a = 2;
    });
    const second = vi.fn();
    client.onPush("x/push", second);
    peer.say("x/push", { data: { a: 1 } });
    expect(second).toHaveBeenCalledWith(expect.objectContaining({ data: { a: 1 } }));
    await client.disconnect();
  });

  test("are not those of a call: its answer and events reach no push handler", async () => {
    const { client, peer } = await connectFake();
    const seen = vi.fn();
    client.onPush("*", seen);
    const call = client.rpc(ping, {});
    peer.answer(peer.last, "invoke/event");
    peer.answer(peer.last, "pong");
    await call;
    expect(seen).not.toHaveBeenCalled();
    await client.disconnect();
  });

  test("a handler that throws stops no other, and its error surfaces on its own", async () => {
    const { client, peer } = await connectFake();
    const later: (() => void)[] = [];
    vi.stubGlobal("queueMicrotask", (callback: () => void) => later.push(callback));
    client.onPush("x/push", () => {
      throw new Error("mine");
    });
    const second = vi.fn();
    client.onPush("x/push", second);
    peer.say("x/push");
    expect(second).toHaveBeenCalledOnce();
    expect(later).toHaveLength(1);
    expect(later[0]).toThrow("mine");
    await client.disconnect();
  });

  test("a value that is not a message is ignored", async () => {
    const { client, peer } = await connectFake();
    const seen = vi.fn();
    client.onPush("*", seen);
    const call = client.rpc(ping, {});
    for (const junk of [
      null,
      1,
      "text",
      [],
      {},
      { type: 7 },
      { type: null, req_id: peer.last.id },
      { req_id: peer.last.id },
    ])
      peer.events.receive(junk as never);
    expect(seen).not.toHaveBeenCalled();
    peer.answer(peer.last, "pong");
    await call;
    await client.disconnect();
  });
});

describe("leaving", () => {
  test("sends goodbye, closes, and rejects calls in flight; calling it twice is allowed", async () => {
    const { client, peer } = await connectFake();
    const call = client.rpc(ping, {});
    const ended = expect(call).rejects.toMatchObject({
      code: "connection_lost",
      message: "the client was disconnected",
    });
    await Promise.all([client.disconnect(), client.disconnect()]);
    await client.disconnect();
    await ended;
    expect(peer.sentOf("shutdown")).toMatchObject([{ timeout: 0 }]);
    expect(client.isConnected).toBe(false);
    expect(peer.closeCount).toBeGreaterThan(0);
  });

  test("may let calls in flight finish first", async () => {
    const { client, peer } = await connectFake();
    const call = client.rpc(ping, {});
    const leaving = client.disconnect({ timeoutMs: 60_000 });
    expect(peer.sentOf("shutdown")).toEqual([]);
    peer.answer(peer.sentOf("ping")[0] ?? peer.last, "pong", { uptime_seconds: 1 });
    await expect(call).resolves.toEqual({ uptime_seconds: 1 });
    await leaving;
    expect(peer.sentOf().map((message) => message.type)).toEqual(["ping", "shutdown"]);
  });

  test("waits no longer than its timeout", async () => {
    const { client } = await connectFake();
    const ended = expect(client.rpc(ping, {})).rejects.toMatchObject({ code: "connection_lost" });
    await client.disconnect({ timeoutMs: 10 });
    await ended;
  });

  test("a second disconnect may end the wait of the first; goodbye is sent once", async () => {
    const { client, peer } = await connectFake();
    const ended = expect(client.rpc(ping, {})).rejects.toMatchObject({ code: "connection_lost" });
    const patient = client.disconnect({ timeoutMs: 60_000 });
    await client.disconnect();
    await Promise.all([patient, ended]);
    expect(peer.sentOf("shutdown")).toHaveLength(1);
  });

  test("succeeds on a link that is gone already", async () => {
    const { client, peer } = await connectFake();
    peer.sendError = new Error("gone");
    await client.disconnect();
    expect(client.isConnected).toBe(false);
  });

  test("the end of a block is a disconnect", async () => {
    const { client, peer } = await connectFake();
    {
      await using scoped = client;
      expect(scoped.isConnected).toBe(true);
    }
    expect(client.isConnected).toBe(false);
    expect(peer.sentOf("shutdown")).toHaveLength(1);
  });

  test("a link lost for good ends calls with its reason, then and later", async () => {
    const { client, peer } = await connectFake();
    const reason = new Error("the host closed the session");
    const ended = expect(client.rpc(ping, {})).rejects.toMatchObject({ code: "connection_lost", cause: reason });
    peer.events.closed(reason);
    await ended;
    expect(client.isConnected).toBe(false);
    await expect(client.rpc(ping, {})).rejects.toMatchObject({ message: "the host closed the session", cause: reason });
    await client.disconnect();
    expect(peer.sentOf("shutdown")).toEqual([]);
  });

  test("leaves no timer with calls in flight or waiting", async () => {
    const watch = watchResources();
    const { client, peer } = await connectFake({ retry: { firstDelayMs: 60_000, maxDelayMs: 60_000 } });
    const calls = [client.rpc(ping, {}), client.rpc(ping, {}, { signal: new AbortController().signal })];
    peer.answer(peer.sentOf("ping")[0] ?? peer.last, "error", { code: "timeout", retryable: true });
    const ended = Promise.allSettled(calls);
    await client.disconnect({ timeoutMs: 5 });
    for (const outcome of await ended)
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "connection_lost" } });
    await watch.expectNothingLeft();
  });
});

test("clients of a process without given names have distinct names", async () => {
  const names = Array.from({ length: 3 }, () => new A2EClient({ transport: new FakePeer().transport }).agentId);
  expect(new Set(names).size).toBe(3);
});
