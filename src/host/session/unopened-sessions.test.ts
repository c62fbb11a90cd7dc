import { expect, test } from "vitest";
import { startRawHost } from "./raw-session.suite.ts";

const few = { maxUnopenedSessions: 4, maxUnopenedPerAddress: 3 };

test("sessions that wait for a handshake do not count for maxSessions", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxSessions: 1, ...few } });
  const { sessions } = raw.host;
  for (let count = 0; count < 3; count++) sessions.create({ address: "192.0.2.1" });
  const agent = sessions.create();
  expect([sessions.size, agent.status]).toEqual([4, "new"]);
  expect(() => sessions.create({ address: "192.0.2.1" })).toThrow("takes no more");
});

test("the oldest session of an address is closed if it has more than maxUnopenedPerAddress", async () => {
  await using raw = await startRawHost(undefined, { limits: few });
  const { sessions } = raw.host;
  const other = sessions.create({ address: "192.0.2.2" });
  const flood = Array.from({ length: 20 }, () => sessions.create({ address: "192.0.2.1" }));
  await Promise.all(flood.slice(0, -3).map((session) => session.close()));
  expect(flood.map(({ status }) => status === "new")).toEqual(flood.map((_, index) => index >= 17));
  expect(other.status).toBe("new");
});

test("if maxUnopenedSessions is reached, a session of the address with the most is closed, not one of others", async () => {
  await using raw = await startRawHost(undefined, { limits: few });
  const { sessions } = raw.host;
  const flood = [1, 2, 3].map(() => sessions.create({ address: "192.0.2.1" }));
  const other = sessions.create({ address: "192.0.2.2" });
  sessions.create({ address: "192.0.2.3" });
  expect(flood.map(({ status }) => status)).toEqual(
    ["closing", "new", "new"].map((status) => expect.stringMatching(status === "new" ? /^new$/ : /^clos/)),
  );
  expect(other.status).toBe("new");
});

test("a session that a transport reads is closed after those that nothing reads", async () => {
  await using raw = await startRawHost(undefined, { limits: few });
  const { sessions } = raw.host;
  const [agent, second] = [1, 2, 3].map(() => sessions.create({ address: "192.0.2.1" }));
  agent?.attach(0, () => {});
  sessions.create({ address: "192.0.2.1" });
  expect([agent?.status, second?.status]).toEqual(["new", expect.stringMatching(/^clos/)]);
});

test("a session whose peer has shown a credential waits among those of its principal, not of its address", async () => {
  await using raw = await startRawHost(undefined, { limits: few });
  const { sessions } = raw.host;
  const agent = sessions.create({ address: "192.0.2.1", principalId: "key:ada" });
  for (let count = 0; count < 20; count++) sessions.create({ address: "192.0.2.1" });
  expect(agent.status).toBe("new");
});

test("a handshake on a host that is full is rejected with host_full", async () => {
  await using raw = await startRawHost(undefined, { limits: { maxSessions: 1, ...few } });
  const { sessions } = raw.host;
  const waiting = sessions.create({ address: "192.0.2.1" });
  const lines: string[] = [];
  const reader = waiting.attach(0, () => {});
  sessions.create();
  waiting.receiveMessage({ type: "handshake/req", id: "1", version: "1.0", agent_id: "late", agent_caps: [] });
  lines.push(...reader.read(1e6).map(({ line }) => line));
  expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ ok: false, reason: "host_full" });
});
