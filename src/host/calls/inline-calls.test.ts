import { expect, test } from "vitest";
import type { CallContext } from "../../plugin/call-context.ts";
import { createMemoryRecordings } from "../../recording/memory-recordings.suite.ts";
import { echo, probe, probePlugin, type Run, sidePlugin, startRawHost } from "../session/raw-session.suite.ts";

const { type } = probe.calls.other;

function codeOf(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test("work in place of a nested call is counted in the audit entry of its caller, and the handler does not run", async () => {
  const called: string[] = [];
  const run: Run = (_, { inlineCall }) => ({ value: `${inlineCall(type, () => 1)}${inlineCall(type, () => 2)}` });
  const other: Run = ({ name }) => {
    called.push(name);
    return { value: name };
  };
  await using raw = await startRawHost([probePlugin(run, other)]);
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ value: "12" });
  expect(called).toEqual([]);
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 2 });
});

test("work that returns undefined is not counted, and the call made instead of it is counted once", async () => {
  const run: Run = async (_, { inlineCall, callNow }) => {
    const inline = inlineCall(type, () => undefined);
    return { value: `${inline} ${(await callNow(type, { name: "called" })).value}` };
  };
  await using raw = await startRawHost([probePlugin(run)]);
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ value: "undefined called" });
  expect(raw.audit.at(-1)).toMatchObject({ req_id: "1", nested_calls: 1 });
});

test("work in place of a call is refused whenever the call would be", async () => {
  const codes: unknown[] = [];
  let context: CallContext | undefined;
  const run: Run = (_, given) => {
    context = given;
    const { inlineCall } = given;
    codes.push(codeOf(() => inlineCall("env/run/req", () => "ran")));
    codes.push(codeOf(() => inlineCall("no/such/req", () => "ran")));
    return { value: "" };
  };
  await using raw = await startRawHost([probePlugin(run), sidePlugin()]);
  const peer = await raw.open({ agent_caps: ["test"] });
  await peer.ask("1");

  expect(codes).toEqual(["capability_missing", "unknown_type"]);
  expect(codeOf(() => context?.inlineCall(type, () => "ran"))).toBe("cancelled");
});

test("work in place of a call counts toward maxCallDepth", async () => {
  const run: Run = async (_, context) => ({ value: String((await context.callNow(type, {})).value) });
  const other: Run = (_, { inlineCall }) => ({ value: String(codeOf(() => inlineCall(type, () => "ran"))) });
  await using raw = await startRawHost([probePlugin(run, other)], { limits: { maxCallDepth: 1 } });
  const peer = await raw.open();

  expect(await peer.ask("1")).toMatchObject({ value: "runtime_error" });
});

test("work in place of a call does not run if the session is recorded, or if several plugins serve the capability", async () => {
  let count = 0;
  const run: Run = (_, { inlineCall }) => ({ value: String(inlineCall(type, () => ++count)) });
  const two = [
    { plugin: probePlugin(run), name: "one" },
    { plugin: probePlugin(run, echo), name: "two" },
  ];
  await using several = await startRawHost(two);
  await using recorded = await startRawHost([probePlugin(run)], { recordings: createMemoryRecordings() });

  for (const raw of [several, recorded])
    expect(await (await raw.open()).ask("1")).toMatchObject({ value: "undefined" });
  expect(count).toBe(0);
});
