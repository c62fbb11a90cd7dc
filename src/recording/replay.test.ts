import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { tools } from "../caps/tools/protocol.ts";
import { probe, probePlugin, RawPeer, type Run, side, startRawHost } from "../host/session/raw-session.suite.ts";
import { type Plugin, plugin } from "../plugin/plugin.ts";
import { ask, call, capability } from "../protocol/table/capability.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { createMemoryRecordings } from "./memory-recordings.suite.ts";
import type { Divergence } from "./replay-report.ts";
import { askTool, identical, record, replay } from "./replayed-session.suite.ts";

test("time, ids and chance are those of the recording", async () => {
  const run: Run = ({ name }, { clock }) => ({ value: `${name} ${clock.now()} ${Math.random() > 2}` });
  const drawing: Plugin = {
    capability: probe,
    session: ({ nextId, random, clock }) => {
      const id = nextId();
      const other: Run = () => ({ value: `${id} ${nextId()} ${random()} ${clock.now()}` });
      return { handlers: { run, other } as never };
    },
  };
  const recorded = await record([drawing], async (peer) => {
    await peer.ask("1", "a");
    await peer.ask("2", "", probe.calls.other.type);
    await peer.ask("3", "", probe.calls.other.type);
    await peer.settle();
    peer.session.receiveLine("no JSON");
    peer.session.receiveTooLong();
    peer.send({ type: "test/run/req", name: "without an id" });
    peer.request("1", "the same id again");
    peer.send({ type: "nobody/knows", id: "4" });
    await peer.settle();
  });
  expect(await replay(recorded, [drawing])).toEqual({ messages: 12, is_identical: true });
});

test("a plugin that answers differently is found, with the message and the field", async () => {
  const answering = (data: object) =>
    probePlugin(({ name }) => ({ value: name, data: name === "b" ? data : {} }) as never);
  const recorded = await record([answering({ items: [{ n: 1 }, { n: 2 }] })], async (peer) => {
    for (const name of ["a", "b", "c"]) await peer.ask(`ask-${name}`, name);
  });
  const report = await replay(recorded, [answering({ items: [{ n: 1 }, { n: 3 }] })]);
  expect(report).toEqual({
    messages: 2,
    is_identical: false,
    divergence: {
      message: 3,
      req_id: "ask-b",
      request_type: "test/run/req",
      field: "data.items[1].n",
      expected: 2,
      found: 3,
    } satisfies Divergence,
  });
});

test("a plugin that fails, sends more lines or sends none is detected", async () => {
  const recorded = await record([probePlugin()], async (peer) => void (await peer.ask("1", "a")));
  const failing = await replay(recorded, [
    probePlugin(() => {
      throw new Error("broken");
    }),
  ]);
  expect(failing.divergence).toMatchObject({ field: "type", expected: "test/run/resp", found: "error" });
  const talkative = probePlugin(({ name }, { emit }) => {
    emit("log", { text: "one more" });
    return { value: name };
  });
  expect((await replay(recorded, [talkative])).divergence).toMatchObject({
    req_id: "1",
    found: "invoke/event",
    field: "type",
  });
  const silent = await replay(recorded, [probePlugin(() => new Promise(() => {}))], { waitMs: 200 });
  expect(silent.divergence).toMatchObject({ field: "", note: "nothing was said in time", expected: { req_id: "1" } });
});

describe("a call that runs while other requests arrive", () => {
  /** Keeps a name a little later, and then waits for the world outside. */
  const late = plugin(side, {
    session: ({ state, outside }) => ({
      handlers: {
        async run({ name }) {
          if (name === "read") return { value: String(state.get("name")) };
          await undefined;
          state.set("name", name);
          await outside(() => new Promise<void>((resolve) => setTimeout(resolve, 10)));
          return { value: name };
        },
      },
    }),
  });
  const read = { type: "env/run/req", name: "read" };

  test("has not proceeded if they arrived in the same turn", async () => {
    const recorded = await record([late], async (peer) => {
      peer.send({ id: "late", type: "env/run/req", name: "kept" });
      for (const id of ["first", "second"]) {
        peer.send({ id: `${id}-refused`, type: "nobody/knows" });
        peer.send({ id, ...read });
      }
      expect(await peer.answer("second")).toMatchObject({ value: "undefined" });
      await peer.answer("late");
    });
    expect(await replay(recorded, [late])).toEqual(identical);
  });

  test("has proceeded if they arrived in a later turn", async () => {
    const recorded = await record([late], async (peer) => {
      peer.send({ id: "late", type: "env/run/req", name: "kept" });
      await new Promise((resolve) => setImmediate(resolve));
      peer.send({ id: "read", ...read });
      expect(await peer.answer("read")).toMatchObject({ value: "kept" });
      await peer.answer("late");
    });
    expect(await replay(recorded, [late])).toEqual(identical);
  });
});

test("a line that the recording does not have is found at the end", async () => {
  const recorded = await record([probePlugin()], async (peer) => void (await peer.ask("1", "a")));
  const extra = recorded.text.replace(/\["out","\{\\"type\\":\\"test\/run\/resp.*\n/, "");
  expect((await replay({ text: extra }, [probePlugin()])).divergence).toMatchObject({
    req_id: "1",
    found: { type: "test/run/resp" },
    note: "the recording has no such line",
  });
});

describe("tools", () => {
  const input = { type: "object" };
  let runs = 0;
  const slow = (name: string, ms: number) =>
    defineTool({
      name,
      description: "Takes its time.",
      input,
      streaming: true,
      async run(_args, { emit, clock }) {
        runs += 1;
        emit("progress", { at: clock.now() });
        await sleep(ms);
        emit("progress", { at: clock.now() });
        return { name, chance: Math.random() };
      },
    });
  const failing = defineTool({
    name: "failing",
    description: "Fails.",
    input,
    run() {
      throw Object.assign(new Error("no such file"), { code: "ENOENT" });
    },
  });
  const atOnce = defineTool({ name: "at_once", description: "Draws.", input, run: () => ({ chance: Math.random() }) });
  const chaining = defineTool({
    name: "chaining",
    description: "Calls the session.",
    input,
    async run(_args, { call }) {
      const { value } = await call(probe.calls.run, { name: "from a tool" });
      const { data } = await call(tools.calls.call, { tool_name: "slow", arguments: {} });
      return { value, inner: data.data };
    },
  });
  const all = () => [
    toolsPlugin({ builtin: false, tools: [slow("slow", 20), slow("fast", 1), failing, atOnce, chaining] }),
  ];

  test("are not run again: their results and events are recorded, in their order", async () => {
    const plugins = () => [...all(), probePlugin()];
    const recorded = await record(plugins(), async (peer) => {
      await Promise.all([
        askTool(peer, "1", "slow", { streaming: true }),
        askTool(peer, "2", "fast", { streaming: true }),
        askTool(peer, "3", "slow"),
        askTool(peer, "4", "failing"),
        askTool(peer, "5", "at_once"),
        askTool(peer, "6", "fast"),
        askTool(peer, "7", "slow"),
      ]);
      await askTool(peer, "8", "unknown");
    });
    const before = runs;
    expect(await replay(recorded, plugins())).toEqual(identical);
    expect(runs).toBe(before);
    const again = await replay(recorded, plugins(), { mustRunTools: true });
    expect(runs).toBeGreaterThan(before);
    expect(again.divergence?.field).toMatch(/^data\.(data\.chance|events)/);
  });

  test("that call the session make their calls again, with the recorded results", async () => {
    let count = 0;
    const counting = () => probePlugin(() => ({ value: `counted ${++count}` }));
    const recorded = await record([...all(), counting()], async (peer) => {
      await Promise.all([askTool(peer, "1", "chaining"), askTool(peer, "2", "chaining")]);
      await peer.ask("3");
    });
    const before = runs;
    count = 0;
    expect(await replay(recorded, [...all(), counting()])).toEqual(identical);
    expect(runs).toBe(before);
    expect(count).toBe(3);
  });

  test("a call that ran out of time does so again, and is not waited for", async () => {
    const stuck = defineTool({ name: "stuck", description: "Never ends.", input, run: () => new Promise(() => {}) });
    const chain = defineTool({
      name: "chain",
      description: "Waits for another.",
      input,
      run: (_args, { call }) =>
        call(tools.calls.call, { tool_name: "stuck", arguments: {}, timeout: 0.001 }).catch(() => ({ late: true })),
    });
    const plugins = () => [toolsPlugin({ builtin: false, tools: [stuck, chain, atOnce] })];
    const recorded = await record(plugins(), async (peer) => {
      expect(await askTool(peer, "1", "stuck", { timeout: 0.001 })).toMatchObject({ code: "timeout" });
      expect(await askTool(peer, "2", "chain")).toMatchObject({ data: { data: { late: true } } });
      await askTool(peer, "3", "at_once");
    });
    expect(await replay(recorded, plugins())).toEqual({ messages: 5, is_identical: true });
  });
});

test("snapshots, forks and merges are replayed", async () => {
  const counting = (): Plugin => ({
    capability: probe,
    session: ({ state }) => {
      const run: Run = ({ name }) => {
        state.set(name, ((state.get(name) as number | undefined) ?? 0) + 1);
        return { value: String(state.get(name)) };
      };
      return { handlers: { run, other: run } as never };
    },
  });
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([counting()], { recordings });
  const peer = await raw.open();
  await peer.ask("1", "a");
  const saved = await peer.ask("2", "", "session/snapshot/req");
  await peer.ask("3", "a");
  peer.send({ type: "session/restore/req", id: "4", snapshot_id: saved.snapshot_id });
  await peer.answer("4");
  const { session_id } = await peer.ask("5", "", "session/fork/req");
  const fork = new RawPeer(raw.host.sessions.get(session_id as string) as never);
  await fork.ask("in the fork", "b");
  peer.send({ type: "session/merge/req", id: "6", session_id });
  expect(await peer.answer("6")).toMatchObject({ capabilities: { test: { merged: 1 } } });
  expect(await peer.ask("7", "b")).toMatchObject({ value: "2" });
  await raw.host.close(0);

  const [parent = "", child = ""] = recordings.texts;
  expect(await replay({ text: parent }, [counting()])).toEqual({ messages: 8, is_identical: true });
  expect(await replay({ text: child }, [counting()])).toEqual({ messages: 1, is_identical: true });
});

test("forks that were refused for want of room are, and those that found it again are not", async () => {
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([probePlugin()], { recordings, limits: { maxSessions: 2 } });
  const peer = await raw.open();
  const fork = (id: string) => {
    peer.send({ id, type: "session/fork/req" });
    return peer.answer(id);
  };
  const { session_id } = await fork("first");
  expect(await fork("refused")).toMatchObject({ code: "rate_limited" });
  await raw.host.sessions.delete(String(session_id));
  expect(await fork("second")).toMatchObject({ type: "session/fork/resp" });
  await peer.session.close();
  expect(await replay({ text: recordings.texts[0] ?? "" }, [probePlugin()])).toEqual(identical);
});

test("an agent replays its own session, and the answer to that is replayed as well", async () => {
  const recordings = createMemoryRecordings();
  const plugins = () => [probePlugin()];
  await using raw = await startRawHost(plugins(), { recordings, replay: (text) => replay({ text }, plugins()) });
  const peer = await raw.open();
  await peer.ask("1", "a");
  const report = await peer.ask("2", "", "session/replay/req");
  expect(report).toMatchObject({
    type: "session/replay/resp",
    messages: 2,
    is_identical: true,
    cut: "the session went on",
  });
  await peer.ask("3", "b");
  await raw.host.close(0);
  expect(await replay({ text: recordings.texts[0] ?? "" }, plugins())).toEqual({ messages: 4, is_identical: true });
});

test("a session that is not recorded rejects session/replay", async () => {
  await using raw = await startRawHost();
  const peer = await raw.open();
  expect(await peer.ask("1", "", "session/replay/req")).toMatchObject({ code: "runtime_error", retryable: false });
});

test("a token does not get into the recording, and is not needed to replay it", async () => {
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([probePlugin()], { recordings, authToken: "a-secret" });
  const peer = raw.connect();
  expect(await peer.shakeHands({ auth_token: "wrong-secret" })).toMatchObject({ ok: false });
  expect(await peer.shakeHands({ auth_token: "a-secret" })).toMatchObject({ ok: true });
  await peer.ask("1", "a");
  await raw.host.close(0);
  const text = recordings.texts[0] ?? "";
  expect(text).not.toContain("secret");
  expect(await replay({ text }, [probePlugin()])).toEqual({ messages: 3, is_identical: true });
});

test("a recording ends at its limit, and the recorded part is replayed", async () => {
  const recorded = await record(
    [probePlugin()],
    async (peer) => {
      for (let id = 0; id < 50; id++) await peer.ask(String(id), "x".repeat(100));
    },
    { limits: { maxRecordingBytes: 10_000 } },
  );
  expect(recorded.text.length).toBeLessThan(10_100);
  const report = await replay(recorded, [probePlugin()]);
  expect(report).toMatchObject({ is_identical: true, cut: "maxRecordingBytes was reached" });
  expect(report.messages).toBeGreaterThan(5);
});

test("a recording that was cut anywhere is replayed up to there", async () => {
  const recorded = await record([probePlugin()], async (peer) => {
    await Promise.all(["1", "2", "3"].map((id) => peer.ask(id, id)));
  });
  const headerLength = recorded.text.indexOf("\n") + 1;
  for (let length = headerLength; length < recorded.text.length; length += 37) {
    const report = await replay({ text: recorded.text.slice(0, length) }, [probePlugin()]);
    expect(report, `cut at ${length}`).toMatchObject({ is_identical: true, cut: expect.any(String) });
  }
});

test("a session without a recording uses the host's own sources directly", async () => {
  const clock = createFakeClock();
  await using raw = await startRawHost([probePlugin()], { clock });
  const { scope } = raw.inside((await raw.open()).session);
  expect(scope.tap).toBeUndefined();
  expect(scope.sources.clock).toBe(clock);
});

test("questions to the agent are replayed with their answers, refusals and timeouts", async () => {
  const question = ask("quiz/question/req", "quiz/question/resp", {
    doc: "Asks.",
    request: z.object({ text: z.string() }),
    result: z.object({ answer: z.string() }),
    example: { request: { text: "?" }, result: { answer: "!" } },
  });
  const start = call("quiz/start/req", "quiz/start/resp", {
    about: { access: "write" },
    doc: "Asks three times.",
    request: z.object({}),
    result: z.object({ answers: z.array(z.string()) }),
    example: { request: {}, result: { answers: [] } },
  });
  const quiz = capability("quiz", { doc: "Asks.", calls: { start }, asks: { question } });
  const asking = () =>
    plugin(quiz, {
      session: ({ ask, nextId }) => ({
        handlers: {
          async start() {
            const answers: string[] = [];
            for (const text of ["answered", "refused", "silence"]) {
              const outcome = ask(question, { text: `${text} ${nextId()}` }, { timeoutMs: 30 });
              answers.push(
                await outcome.then(
                  ({ answer }) => answer,
                  (error: Error) => error.message,
                ),
              );
            }
            return { answers };
          },
        },
      }),
    });
  const recordings = createMemoryRecordings();
  await using raw = await startRawHost([asking()], { recordings });
  const peer = await raw.open({ agent_caps: ["quiz"] });
  peer.send({ type: "quiz/start/req", id: "1", version: "1.0" });
  const asked = async (text: string) => {
    const isIt = ({ type, text: said }: { type: string; text?: unknown }) =>
      type === question.type && String(said).startsWith(text);
    await peer.until(() => peer.received.some(isIt));
    return peer.received.find(isIt)?.id;
  };
  peer.send({ type: "quiz/question/resp", id: "2", req_id: await asked("answered"), answer: "yes" });
  peer.send({ type: "error", id: "3", req_id: await asked("refused"), code: "forbidden", message: "no" });
  expect(await peer.answer("1")).toMatchObject({ answers: ["yes", "no", expect.stringContaining("did not answer")] });
  await raw.host.close(0);
  expect(await replay({ text: recordings.texts[0] ?? "" }, [asking()])).toMatchObject({ is_identical: true });
});
