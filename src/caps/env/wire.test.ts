// Spellings that existing agents use, on the wire.
import { expect, test } from "vitest";
import type { Message } from "../../protocol/envelope.ts";
import { startHost } from "../../testing/start-host.ts";
import { envPlugin } from "./plugin.ts";

/** An agent that writes its messages by hand. */
function openRaw(host: Awaited<ReturnType<typeof startHost>>["host"]) {
  const received: Message[] = [];
  const session = host.sessions.create();
  session.bindTransport({ deliver: (message) => void received.push(structuredClone(message)), closed() {} });
  return {
    received,
    send: (message: object) => {
      session.receiveMessage(message);
      return received.at(-1);
    },
    close: () => session.close(),
  };
}

const docs = { a2e: "1.0" };
const sdk = { version: "1.0" };

test("a request for a plan may use the type of its answer", async () => {
  await using testHost = await startHost(envPlugin());
  const peer = openRaw(testHost.host);
  peer.send({ ...sdk, type: "handshake/req", id: "1", agent_caps: ["env"] });
  peer.send({ ...sdk, type: "env/reset/req", id: "2", env_name: "counter_env" });

  const plan = {
    req_id: "3",
    type: "env/plan/resp",
    suggested_actions: [{ type: "inc", amount: 10 }, { type: "inc" }, { type: "dec" }],
  };
  expect(peer.send({ ...sdk, type: "env/plan/resp", id: "3", episode_id: null })).toMatchObject(plan);
  expect(peer.send({ ...sdk, type: "env/plan/req", id: "4" })).toMatchObject({ ...plan, req_id: "4" });
  const answer = { ...sdk, type: "env/plan/resp", id: "5", req_id: "0", suggested_actions: [] };
  expect(peer.send(answer)).toMatchObject({ type: "error", code: "invalid_message", req_id: "5" });
  await peer.close();
});

test("spaces, rewards and pushes are sent in the spelling that the agent uses", async () => {
  await using testHost = await startHost(envPlugin());
  const peer = openRaw(testHost.host);
  expect(peer.send({ ...docs, type: "handshake/req", id: "1", agent_caps: ["env", "env_push"] })).toMatchObject({
    accepted_caps: [
      { capability: "env", enabled: true },
      { capability: "env_push", enabled: true },
    ],
  });
  expect(peer.send({ ...docs, type: "env/spaces/req", id: "2", env_name: "counter_env" })).toMatchObject({
    type: "env/spaces/resp",
    action_space: { oneOf: expect.any(Array) },
    state_schema: { type: "object" },
  });
  peer.send({ ...docs, type: "env/reset/req", id: "3", env_name: "counter_env" });
  peer.send({ ...docs, type: "env/step/req", id: "4", action: { action_type: "inc", payload: { amount: 10 } } });
  expect(peer.received.at(-2)).toMatchObject({
    type: "env/state_push",
    state_delta: { count: 10 },
    delta: { count: 10 },
  });
  expect(peer.send({ ...docs, type: "env/reward", id: "5", reward: 0.5 })).toMatchObject({
    type: "env/reward/resp",
    step_num: 1,
  });
  await peer.close();
});

test("an agent with the SDK that asks for env_push receives pushes, and a handshake that it can parse", async () => {
  await using testHost = await startHost(envPlugin());
  const peer = openRaw(testHost.host);
  const answer = peer.send({ ...sdk, type: "handshake/req", id: "1", agent_caps: ["env", "env_push"] });
  expect(answer?.accepted_caps).toEqual([expect.objectContaining({ capability: "env" })]);
  peer.send({ ...sdk, type: "env/reset/req", id: "2", env_name: "counter_env" });
  peer.send({ ...sdk, type: "env/step/req", id: "3", action: { type: "inc", amount: 10 } });
  expect(peer.received.map(({ type }) => type)).toContain("env/state/push");
  await peer.close();
});

test("a hostile request is answered and changes nothing", async () => {
  await using testHost = await startHost(envPlugin());
  const peer = openRaw(testHost.host);
  peer.send({ ...sdk, type: "handshake/req", id: "0", agent_caps: ["env"] });
  peer.send({ ...sdk, type: "env/reset/req", id: "1", env_name: "counter_env" });
  const hostile = [
    { type: "env/step/req" },
    { type: "env/step/req", action: { type: "__proto__" } },
    { type: "env/step/req", action: { type: "constructor" } },
    { type: "env/step/req", action: { type: "inc", amount: 1e308 } },
    { type: "env/step/req", episode_id: "__proto__", action: "inc" },
    { type: "env/reset/req", env_name: "__proto__" },
    { type: "env/reset/req", seed: 1.5 },
    { type: "env/reset/req", seed: 1e300 },
    { type: "env/batch_step/req", episode_ids: ["a"], actions: [] },
    { type: "env/what_if/req", actions: [] },
  ];
  for (const [index, message] of hostile.entries())
    expect(peer.send({ ...sdk, id: `h${index}`, ...message })).toMatchObject({ type: "error", req_id: `h${index}` });
  expect(peer.send({ ...sdk, type: "env/observe/req", id: "2" })).toMatchObject({
    obs: { step_num: 0, state: { count: 0 } },
  });
  await peer.close();
});
