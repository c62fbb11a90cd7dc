import { expect, test } from "vitest";
import { A2EError } from "../../protocol/errors.ts";
import { createGate, probePlugin, type Run, startRawHost } from "../session/raw-session.suite.ts";

const says =
  (value: string): Run =>
  () => ({ value });
const declines: Run = () => undefined;
const throws =
  (code: string): Run =>
  () => {
    throw new A2EError(code, code);
  };

test("plugins of one capability are asked by priority, highest first; equal ones in the order of the config", async () => {
  const asked: string[] = [];
  const asking = (name: string, priority: number) => ({
    name,
    priority,
    plugin: probePlugin(() => {
      asked.push(name);
      return undefined;
    }),
  });
  await using raw = await startRawHost([asking("low", -1), asking("a", 5), asking("b", 5), asking("high", 9)]);
  const peer = await raw.open();
  await peer.ask("1");
  expect(asked).toEqual(["high", "a", "b", "low"]);
});

test("the priority of the config overrides the plugin's own, also with zero", async () => {
  const own = { ...probePlugin(says("own")), priority: 10 };
  await using raw = await startRawHost([
    { plugin: own, name: "own", priority: 0 },
    { plugin: probePlugin(says("other")), name: "other", priority: 1 },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "other" });
});

test("an exclusive plugin is asked alone, whatever the priority of others", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(throws("probe_failed")), name: "loud", priority: 100 },
    { plugin: probePlugin(says("alone")), name: "sole", exclusive: true },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "alone" });
});

test("of two exclusive plugins the one with the higher priority is asked", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(says("low")), name: "low", exclusive: true, priority: 1 },
    { plugin: probePlugin(says("high")), name: "high", exclusive: true, priority: 2 },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "high" });
});

test("an exclusive plugin that declines is not replaced by another", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(declines), name: "sole", exclusive: true },
    { plugin: probePlugin(says("other")), name: "other" },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "runtime_error", retryable: false });
});

test("the first answer is the answer, and later ones are dropped", async () => {
  const gate = createGate();
  await using raw = await startRawHost([
    { plugin: probePlugin(gate.run), name: "slow", priority: 9 },
    { plugin: probePlugin(async () => ({ value: "quick" })), name: "quick" },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1", "a")).toMatchObject({ value: "quick" });
  gate.release("a");
  await peer.settle();
  expect(peer.answers("1")).toHaveLength(1);
});

test("who declines or fails does not matter while another answers", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(throws("probe_failed")), name: "failing", priority: 3 },
    { plugin: probePlugin(declines), name: "declining", priority: 2 },
    { plugin: probePlugin(says("answered")), name: "answering", priority: 1 },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "answered" });
});

test("what one plugin does to a request does not reach the others", async () => {
  const spoils: Run = (request) => {
    request.name = "spoilt";
    request.data.spoilt = true;
    return undefined;
  };
  await using raw = await startRawHost([
    { plugin: probePlugin(spoils), name: "spoiling", priority: 1 },
    { plugin: probePlugin(({ name, data }) => ({ value: name, data })), name: "answering" },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1", "whole")).toMatchObject({ value: "whole", data: {} });
});

test.each([1, 2])("where all of %i plugins decline, the agent is told that nobody took the request", async (count) => {
  const plugins = Array.from({ length: count }, (_, index) => ({ plugin: probePlugin(declines), name: `p${index}` }));
  await using raw = await startRawHost(plugins);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "runtime_error", message: expect.stringContaining("test") });
});

test("where all fail, the error of the first in order is the answer", async () => {
  await using raw = await startRawHost([
    { plugin: probePlugin(throws("timeout")), name: "second", priority: 1 },
    { plugin: probePlugin(async () => throws("probe_failed")({} as never, {} as never)), name: "first", priority: 2 },
    { plugin: probePlugin(declines), name: "third" },
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ code: "probe_failed", retryable: false });
});

test("a plugin without the handler of a call fails that call and no other", async () => {
  const partial = { ...probePlugin(), session: () => ({ handlers: { run: says("here") } as never }) };
  await using raw = await startRawHost([partial]);
  const peer = await raw.open();
  expect(await peer.ask("1", "", "test/other/req")).toMatchObject({ code: "internal_error" });
  expect(await peer.ask("2")).toMatchObject({ value: "here" });
});
