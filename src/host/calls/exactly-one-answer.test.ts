// Whatever a handler does and whenever its agent cancels, repeats or leaves: each request gets exactly one answer.
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { A2EClient } from "../../client/client.ts";
import { createLogger } from "../../plugin/logger.ts";
import { A2EError } from "../../protocol/errors.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { probe, probePlugin, type Run, startRawHost } from "../session/raw-session.suite.ts";

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** What a handler may return although its table does not allow it. */
const nonsense: Record<string, () => unknown> = {
  "the wrong shape": () => ({ value: 7 }),
  "an empty object": () => ({}),
  null: () => null,
  "a string": () => "text",
  "a number": () => 7,
  "an array": () => [],
  "a function": () => () => {},
  "a cycle": () => ({ value: "x", data: cyclic }),
  "a BigInt": () => ({ value: "x", data: { big: 1n } }),
  "a getter that throws": () => ({
    get value() {
      throw new Error("getter");
    },
  }),
  "a revoked proxy": revoked,
  "an object nested too deeply": () => {
    let data: object = {};
    for (let depth = 0; depth < 100_000; depth++) data = { data };
    return { value: "x", data };
  },
};

/** What a handler may throw although only declared errors make sense. */
const foreign: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  "a string": () => "text",
  "a BigInt": () => 1n,
  "a symbol": () => Symbol("s"),
  "a cycle": () => cyclic,
  "an ordinary error": () => new Error("secret text of the host"),
  "a revoked proxy": revoked,
  "an error code nobody declared": () => new A2EError("surprise", "x"),
  "a code that every object has": () => new A2EError("constructor", "x"),
  "an error with a cycle in its detail": () => new A2EError("probe_failed", "x", { detail: cyclic as never }),
  "an error with a BigInt in its detail": () => new A2EError("probe_failed", "x", { detail: { big: 1n as never } }),
  "an error whose stack throws": () =>
    Object.defineProperty(new Error("x"), "stack", {
      get() {
        throw new Error("stack");
      },
    }),
};

/** A real logger, which must survive whatever it is told. */
const lines: string[] = [];
const log = createLogger((line) => void lines.push(line));

for (const [what, make] of Object.entries(nonsense)) {
  for (const how of ["returns", "resolves with"]) {
    test(`a handler that ${how} ${what} is answered once with internal_error`, async () => {
      const run: Run = () => (how === "returns" ? make() : Promise.resolve(make())) as never;
      await expectInternalError(run);
    });
  }
}

for (const [what, make] of Object.entries(foreign)) {
  for (const how of ["throws", "rejects with"]) {
    test(`a handler that ${how} ${what} is answered once with internal_error and none of its text`, async () => {
      await expectInternalError(() => {
        if (how === "throws") throw make();
        return Promise.reject(make());
      });
    });
  }
}

async function expectInternalError(run: Run): Promise<void> {
  await using raw = await startRawHost([probePlugin(run)]);
  Object.assign(raw.log, log);
  const peer = await raw.open();
  const answer = await peer.ask("1");
  expect(answer).toMatchObject({ type: "error", code: "internal_error", retryable: false, capability_name: "test" });
  expect(JSON.stringify(answer)).not.toContain("secret");
  await peer.settle();
  expect(peer.answers("1")).toHaveLength(1);
  expect(peer.session.pendingCalls).toBe(0);
  expect(lines.length).toBeGreaterThan(0);
  lines.length = 0;
}

test("an agent in process is told internal_error as well, where the detail of an error has no JSON form", async () => {
  await using raw = await startRawHost([
    probePlugin(() => {
      throw new A2EError("probe_failed", "x", { detail: cyclic as never });
    }),
  ]);
  const transport = createDirectTransport(() => raw.host.sessions.create());
  await using client = await A2EClient.connect({ transport, capabilities: ["test"] });
  await expect(client.rpc(probe.calls.run, {})).rejects.toMatchObject({ code: "internal_error" });
});

test("a thenable that calls both, twice, is answered once with the first", async () => {
  await using raw = await startRawHost([
    probePlugin(() => {
      const thenable = {
        // biome-ignore lint/suspicious/noThenProperty: this is what a foreign promise looks like
        then(resolve: (value: unknown) => void, reject: (error: unknown) => void) {
          resolve({ value: "first" });
          reject(new Error("second"));
          resolve({ value: "third" });
          throw new Error("fourth");
        },
      };
      return thenable as never;
    }),
  ]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "first" });
  await peer.settle();
  expect(peer.answers("1")).toHaveLength(1);
});

test("a promise of a class of its own that calls back at once and then throws is answered once", async () => {
  class Odd extends Promise<unknown> {
    // biome-ignore lint/suspicious/noThenProperty: a handler may return any promise
    override then(resolve?: ((value: unknown) => unknown) | null): never {
      resolve?.({ value: "first" });
      resolve?.({ value: "second" });
      throw new Error("third");
    }
  }
  await using raw = await startRawHost([probePlugin(() => new Odd(() => {}) as never)]);
  const peer = await raw.open();
  expect(await peer.ask("1")).toMatchObject({ value: "first" });
  await peer.settle();
  expect(peer.answers("1")).toHaveLength(1);
});

test("a transport end that throws keeps no call from ending and no session from closing", async () => {
  await using raw = await startRawHost(undefined, { isHandshakeRequired: false });
  const session = raw.host.sessions.create();
  session.bindTransport({
    deliver() {
      throw new Error("broken end");
    },
    closed() {},
  });
  session.receiveMessage({ type: "test/run/req", id: "1" });
  session.receiveMessage({ type: "test/run/req", id: "1" });
  session.receiveMessage({ type: "nobody/knows", id: "2" });
  expect(session.pendingCalls).toBe(0);
  await session.close();
  expect(raw.host.sessions.size).toBe(0);
});

test("a handler that blocks for long costs time and no answer", async () => {
  await using raw = await startRawHost([
    probePlugin(({ name }) => {
      const end = performance.now() + 60;
      while (performance.now() < end);
      return { value: name };
    }),
  ]);
  const [one, other] = [await raw.open(), await raw.open()];
  one.request("1", "a");
  other.request("1", "b");
  expect(await one.answer("1")).toMatchObject({ value: "a" });
  expect(await other.answer("1")).toMatchObject({ value: "b" });
});

type Behaviour = { what: string; delay: number; emits: number; nests: boolean };

const behaviours = fc.record<Behaviour>({
  what: fc.constantFrom("value", "nonsense", "throws", "declared", "declines", "hangs", "thenable"),
  delay: fc.integer({ min: -1, max: 3 }),
  emits: fc.integer({ min: 0, max: 3 }),
  nests: fc.boolean(),
});

/** What the agent does between its requests. */
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant("request" as const), behaviour: behaviours }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("repeat" as const), of: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), of: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ticks: fc.integer({ min: 1, max: 3 }) }) },
  ),
  { minLength: 1, maxLength: 40 },
);

async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setImmediate(resolve));
}

const behave: Run = (request, context) => {
  const behaviour = request.data as unknown as Behaviour;
  const finish = () => {
    for (let count = 0; count < behaviour.emits; count++) context.emit("progress", count % 2 ? (cyclic as never) : {});
    switch (behaviour.what) {
      case "nonsense":
        return Symbol("nonsense") as never;
      case "throws":
        throw cyclic;
      case "declared":
        throw probe.error("probe_failed", "on purpose");
      case "declines":
        return undefined;
      case "thenable":
        // biome-ignore lint/suspicious/noThenProperty: a foreign promise
        return { then: (resolve: (value: unknown) => void) => resolve({ value: "x" }) } as never;
      default:
        return { value: "x" };
    }
  };
  if (behaviour.nests) void context.call(probe.calls.other, { data: { ...request.data, nests: false } });
  if (behaviour.what === "hangs") return new Promise(() => {});
  if (behaviour.delay < 0) return finish();
  return ticks(behaviour.delay).then(() => {
    const result = finish();
    setImmediate(() => context.emit("status", { late: true }));
    return result;
  });
};

test("under random handlers, cancels, repeats and a shutdown each request is answered as often as it was sent", async () => {
  const run = fc.asyncProperty(
    steps,
    fc.integer({ min: 1, max: 3 }),
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 1, max: 2 }),
    async (script, maxParallelCalls, maxQueuedCalls, plugins) => {
      const all = Array.from({ length: plugins }, (_, index) => ({
        plugin: probePlugin(behave, behave),
        name: `p${index}`,
      }));
      await using raw = await startRawHost(all, { limits: { maxParallelCalls, maxQueuedCalls } });
      const peer = await raw.open();
      const sent: { id: string; data: unknown; count: number }[] = [];
      let controls = 0;
      const send = (request: (typeof sent)[number]) => {
        request.count += 1;
        peer.send({ type: "test/run/req", id: request.id, data: request.data });
      };
      for (const step of script) {
        const known = "of" in step ? sent[step.of % Math.max(1, sent.length)] : undefined;
        if (step.do === "request") {
          const request = { id: `r${sent.length}`, data: step.behaviour, count: 0 };
          sent.push(request);
          send(request);
        } else if (step.do === "repeat" && known !== undefined) send(known);
        else if (step.do === "cancel" && known !== undefined)
          peer.send({ type: "invoke/cancel/req", id: `c${controls++}`, call_id: known.id });
        else if (step.do === "wait") await ticks(step.ticks);
      }
      peer.send({ type: "shutdown", id: "bye", timeout: 0.005 });
      const refused = { id: "too late", data: {}, count: 0 };
      sent.push(refused);
      send(refused);
      await peer.until(() => peer.received.at(-1)?.type === "session/closed");
      await ticks(5);
      peer.read();

      for (const { id, count } of sent) expect([id, peer.answers(id).length]).toEqual([id, count]);
      for (let control = 0; control < controls; control++) expect(peer.answers(`c${control}`)).toHaveLength(1);
      for (const { id } of sent) {
        const ofCall = peer.received.filter((message) => message.req_id === id);
        const seqs = peer.events(id).map(({ seq }) => seq);
        expect(seqs).toEqual(seqs.map((_, index) => index + 1));
        const firstAnswer = ofCall.findIndex((message) => message.type !== "invoke/event");
        const isRefusedFirst = ofCall[firstAnswer]?.code === "rate_limited";
        if (!isRefusedFirst)
          expect(ofCall.slice(firstAnswer).filter(({ type }) => type === "invoke/event")).toEqual([]);
      }
      expect(peer.received.at(-1)?.type).toBe("session/closed");
      expect(peer.session.pendingCalls).toBe(0);
    },
  );
  await fc.assert(run, { numRuns: 150 });
});

test("a call that hangs is ended by its timeout, also while others are cancelled around it", async () => {
  await using raw = await startRawHost([probePlugin(() => new Promise(() => {}))], {
    limits: { callTimeoutMs: 30, maxParallelCalls: 100 },
  });
  const peer = await raw.open();
  for (let id = 0; id < 50; id++) peer.request(`${id}`);
  for (let id = 0; id < 50; id += 2) peer.send({ type: "invoke/cancel/req", id: `c${id}`, call_id: `${id}` });
  await vi.waitFor(() => expect(peer.session.pendingCalls).toBe(0));
  await peer.settle();
  for (let id = 0; id < 50; id++)
    expect(peer.answers(`${id}`)).toMatchObject([{ code: id % 2 === 0 ? "cancelled" : "timeout" }]);
});
