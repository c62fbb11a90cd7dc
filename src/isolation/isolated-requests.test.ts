import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { probePlugin, type RawPeer, type Run, startRawHost } from "../host/session/raw-session.suite.ts";
import type { CallContext } from "../plugin/call-context.ts";
import { A2EError } from "../protocol/errors.ts";
import { createIsolatedFolder, type IsolatedFolder } from "./isolated-host.suite.ts";

let folder: IsolatedFolder;
beforeAll(async () => {
  folder = await createIsolatedFolder();
});
afterAll(() => folder.remove());

const run = "work/run/req";
const caps = { agent_caps: ["work", "test"] };
const questions = (peer: RawPeer) => peer.received.filter(({ type }) => type === "work/question/req");

/** A nested call that never ends; its contexts are collected. */
function createHanging(): { run: Run; contexts: CallContext[] } {
  const contexts: CallContext[] = [];
  const run: Run = (_request, context) => {
    contexts.push(context);
    return new Promise(() => {});
  };
  return { run, contexts };
}

test("the signal of a call of another capability reaches it from within the thread, in a request and outside of a request", async () => {
  const hanging = createHanging();
  const loaded = await folder.load(`
    const give = async (call) => {
      const controller = new AbortController();
      const outcome = call("test/run/req", { name: "hangs" }, { signal: controller.signal });
      // After the host has reported that it runs.
      await call("test/other/req", { name: "hangs" });
      controller.abort();
      const first = await outcome.catch(({ code, message }) => ({ code, message }));
      const second = await call("test/run/req", {}, { signal: controller.signal }).catch(({ code }) => code);
      return [first, second];
    };
    return { session: ({ call }) => part({ inside: (context) => give(context.call), outside: () => give(call) }) };`);
  await using raw = await startRawHost([loaded, probePlugin(hanging.run)]);
  const peer = await raw.open(caps);
  for (const name of ["inside", "outside"]) {
    const cancelled = { code: "cancelled", message: "cancelled by its caller" };
    expect(await peer.ask(name, name, run)).toMatchObject({ value: [cancelled, "cancelled"] });
  }
  // Aborted before it was made, a call does not even begin.
  expect(hanging.contexts).toHaveLength(2);
  for (const { signal } of hanging.contexts) expect(signal.reason).toMatchObject({ code: "cancelled" });
});

test("the signal of a question to the agent reaches it from within the thread", async () => {
  const loaded = await folder.load(`
    return {
      session: ({ ask }) => part({
        async give() {
          const controller = new AbortController();
          const outcome = ask(question, { text: "first" }, { signal: controller.signal });
          await wait(20);
          controller.abort();
          const first = await outcome.catch(({ code }) => code);
          return [first, (await ask(question, { text: "second" })).text];
        },
      }),
    };`);
  await using raw = await startRawHost([loaded], { limits: { maxPendingAsks: 1 } });
  const peer = await raw.open(caps);
  const given = peer.ask("1", "give", run);
  // There is room for the second question only after the first has ended.
  await peer.until(() => questions(peer).length === 2);
  const [first, second] = questions(peer);
  peer.send({ type: "work/question/resp", id: "late", req_id: first?.id, text: "late" });
  peer.send({ type: "work/question/resp", id: "fine", req_id: second?.id, text: "fine" });
  expect(await given).toMatchObject({ value: ["cancelled", "fine"] });
});

test("the requests of a lost thread end with it, and no answer to them reaches the next thread", async () => {
  const hanging = createHanging();
  const loaded = await folder.load(`
    return {
      session: ({ ask, call }) => part({
        leave: async () => {
          void call("test/run/req", {});
          void ask(question, { text: "of the lost" }, { timeoutMs: 60_000 });
          await call("test/other/req", {});
          process.exit(3);
        },
        ask: () => ask(question, { text: "of the next" }).then(({ text }) => text),
      }),
    };`);
  await using raw = await startRawHost([loaded, probePlugin(hanging.run)]);
  const peer = await raw.open(caps);
  expect(await peer.ask("1", "leave", run)).toMatchObject({ code: "sandbox_crash" });
  await vi.waitFor(() => expect(hanging.contexts[0]?.isEnded).toBe(true));
  const asked = peer.ask("2", "ask", run);
  await peer.until(() => questions(peer).length === 2);
  const [lost, next] = questions(peer);
  peer.send({ type: "work/question/resp", id: "3", req_id: lost?.id, text: "for the lost" });
  peer.send({ type: "work/question/resp", id: "4", req_id: next?.id, text: "for the next" });
  expect(await asked).toMatchObject({ value: "for the next" });
});

test("an error, invalid message or unhandled rejection of a plugin fails its own call, not its thread or the host", async () => {
  const failing: Run = (_request, { emit }) => {
    emit("progress", { text: "an event" });
    throw new A2EError("runtime_error", "no form", { detail: { count: 1n, callback() {} } as never });
  };
  const loaded = await folder.load(`
    let count = 0;
    return {
      session: (session) => part({
        count: () => ++count,
        nobody: () => { throw Object.create(null); },
        detail: () => { throw new A2EError("too_much", "no form", { detail: { count: 1n, callback() {} } }); },
        result: () => 1n,
        push: () => session.push(told, { text: 7 }),
        event: ({ emit }) => { emit("progress", { count: 1n }); emit("progress", { count: 1 }); },
        log: ({ log }) => log.info("odd", { count: 1n, error: new Error("mine") }),
        request: ({ call }) => call("test/run/req", { count: 1n }).catch((error) => error.message),
        nested: ({ call }) => call("test/run/req", {}).catch((error) => "refused"),
        events: ({ call }) => call("test/run/req", {}, { onEvent() { throw new Error("mine"); } }).catch(() => "refused"),
        forgotten: ({ call }) => void call("nobody/knows", {}),
        print: () => { console.log("printed"); process.stderr.write("complained\\n"); },
      }),
    };`);
  await using raw = await startRawHost([loaded, probePlugin(failing)]);
  const peer = await raw.open(caps);
  const answers: Record<string, unknown> = {};
  await peer.ask("first", "count", run);
  const steps = "nobody detail result push event log request nested events forgotten print count".split(" ");
  for (const name of steps) {
    const { code, value } = await peer.ask(name, name, run);
    answers[name] = code ?? value;
  }
  expect(answers).toEqual({
    nobody: "internal_error",
    detail: "internal_error",
    result: "internal_error",
    push: "internal_error",
    event: null,
    log: null,
    request: "a BigInt has no JSON form",
    nested: "refused",
    events: "refused",
    forgotten: null,
    print: null,
    // In the first thread: no thread was lost on the way.
    count: 2,
  });
  expect(peer.received.filter(({ type }) => type.endsWith("/event")).map(({ data }) => data)).toEqual([{ count: 1 }]);
  const logged = raw.log.entries.map(({ message, fields }) => [message, fields.text ?? ""]);
  expect(logged).toContainEqual(["plugin output", "printed"]);
  expect(logged).toContainEqual(["plugin output", "complained"]);
  expect(logged).toContainEqual(["event has no JSON form", ""]);
  expect(logged).toContainEqual(["event was not taken", ""]);
  const odd = { count: "(bigint without a JSON form)", error: expect.stringContaining("Error: mine") };
  expect(raw.log.entries).toContainEqual({ level: "info", message: "odd", fields: odd });
});

test("a request that a part makes while it is closed is rejected at once", async () => {
  const loaded = await folder.load(`
    let log;
    return {
      setup(context) { log = context.log; },
      session: ({ call, ask }) => ({
        ...part({}),
        async close() {
          const codes = await Promise.all([call("test/run/req", {}), ask(question, { text: "" })].map((asked) => asked.catch(({ code }) => code)));
          log.info("closed", { codes });
        },
      }),
    };`);
  await using raw = await startRawHost([loaded, probePlugin()]);
  const peer = await raw.open(caps);
  await peer.session.close();
  expect(raw.log.entries).toMatchObject([{ message: "closed", fields: { codes: ["cancelled", "cancelled"] } }]);
});
