import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { probePlugin, startRawHost } from "../host/session/raw-session.suite.ts";
import { createIsolatedFolder, type IsolatedFolder, watchThreads } from "./isolated-host.suite.ts";

let folder: IsolatedFolder;
beforeAll(async () => {
  folder = await createIsolatedFolder();
});
afterAll(() => folder.remove());

const run = "work/run/req";
const caps = { agent_caps: ["work", "test"] };

test("the thread ends with its host, after the plugin has been closed in it", async () => {
  const threads = watchThreads();
  const loaded = await folder.load(`
    let log;
    return {
      setup(context) { log = context.log; },
      session: () => part({ hello: () => "hello" }),
      async close() { await wait(5); log.info("closed in its thread"); },
    };`);
  const raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  expect(await peer.ask("1", "hello", run)).toMatchObject({ value: "hello" });
  expect(threads.running.size).toBe(1);
  await raw.host.close(0);
  expect(threads.running.size).toBe(0);
  expect(raw.log.entries.map(({ message }) => message)).toEqual(["closed in its thread"]);
  threads.stop();
});

test("a session passes to its part in the thread whether it has ended for good", async () => {
  const loaded = await folder.load(`
    let log;
    return {
      setup(context) { log = context.log; },
      session: () => ({ ...part({}), close(isForGood) { log.info("closed", { isForGood }); } }),
    };`);
  const raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  await raw.open(caps);
  await peer.session.close();
  await raw.host.close(0);
  const told = raw.log.entries.map(({ fields }) => fields?.isForGood);
  expect(told).toEqual([true, false]);
});

test("a plugin that blocks as it is closed is ended all the same", async () => {
  const threads = watchThreads();
  const loaded = await folder.load("return { session: () => part({}), close() { for (;;) {} } };");
  const raw = await startRawHost([loaded]);
  await raw.host.close(0);
  expect(threads.running.size).toBe(0);
  expect(raw.log.entries).toMatchObject([{ message: "a plugin could not close" }]);
  threads.stop();
});

test.each([
  ["throws", 'throw new Error("no port left")', /"work" failed to start: .*no port left/s],
  ["ends its thread", "process.exit(4)", /"work" failed to start: the plugin's thread ended with code 4/],
])("a plugin that %s halfway through its setup leaves no thread behind", async (_, how, problem) => {
  const threads = watchThreads();
  const loaded = await folder.load(`
    return { async setup() { setInterval(() => {}, 1000); await wait(5); ${how}; }, session: () => part({}) };`);
  await expect(startRawHost([loaded])).rejects.toThrow(problem);
  await vi.waitFor(() => expect(threads.running.size).toBe(0));
  threads.stop();
});

test("a plugin that has started is closed with its thread if another plugin fails to start", async () => {
  const threads = watchThreads();
  const loaded = await folder.load("return { session: () => part({}) };");
  const setup = () => Promise.reject(new Error("mine"));
  await expect(startRawHost([loaded, { ...probePlugin(), setup }])).rejects.toThrow("mine");
  expect(threads.running.size).toBe(0);
  threads.stop();
});

test("a setup or a session that fails while a lost thread is replaced is tried again by the next call", async () => {
  const flags = { setup: join(folder.path, "no-setup"), session: join(folder.path, "no-session") };
  const loaded = await folder.load(`
    const check = (file) => { if (existsSync(file)) throw new A2EError("too_much", "not now"); };
    return {
      setup: () => check(${JSON.stringify(flags.setup)}),
      session() {
        check(${JSON.stringify(flags.session)});
        return part({ hello: () => "hello", exit: () => process.exit(3) });
      },
    };`);
  await using raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  for (const [name, file] of Object.entries(flags)) {
    expect(await peer.ask(`${name} exits`, "exit", run)).toMatchObject({ code: "sandbox_crash" });
    await writeFile(file, "");
    expect(await peer.ask(`${name} fails`, "hello", run)).toMatchObject({ code: "too_much", message: "not now" });
    await rm(file);
    expect(await peer.ask(`${name} works`, "hello", run)).toMatchObject({ value: "hello" });
  }
});

test("a call that was given up before its thread was ready does not run", async () => {
  const loaded = await folder.load(`
    let runs = 0;
    return { session: () => part({ count: () => ++runs, exit: () => process.exit(3) }) };`);
  await using raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  await peer.ask("exits", "exit", run);
  const waits = peer.ask("waits", "count", run);
  peer.send({ type: "invoke/cancel/req", id: "cancel", call_id: "waits" });
  expect(await waits).toMatchObject({ code: "cancelled" });
  expect(await peer.ask("counts", "count", run)).toMatchObject({ value: 1 });
});

test("a handler that ignores its abort does not cost other calls the thread, as long as it does not block it", async () => {
  const loaded = await folder.load(`
    let release;
    const later = ({ emit }) => { emit("progress", {}); return new Promise((resolve) => { release = resolve; }); };
    const ignore = ({ emit }) => { emit("progress", {}); return wait(600_000); };
    return { session: () => part({ later, ignore, release: () => release("released") }) };`);
  const ponged = new Promise<void>((resolve) => {
    const notice = (message: { kind: string }) => message.kind === "pong" && resolve();
    process.once("worker", (worker) => worker.on("message", notice));
  });
  await using raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  const later = peer.ask("later", "later", run);
  const ignored = peer.ask("ignored", "ignore", run);
  await peer.until(() => peer.received.filter(({ type }) => type.endsWith("/event")).length === 2);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  peer.send({ type: "invoke/cancel/req", id: "cancel", call_id: "ignored" });
  expect(await ignored).toMatchObject({ code: "cancelled" });
  await ponged;
  // Far beyond the time that a blocked thread has.
  vi.advanceTimersByTime(3_600_000);
  await peer.ask("release", "release", run);
  expect(await later).toMatchObject({ value: "released" });
  expect(raw.log.entries).toEqual([]);
});

test("a thread that is blocked by the opening of a session is replaced, though no call runs in it", async () => {
  const body = `
    return {
      session({ session }) {
        if (session.principal.agentId === "loops") for (;;) {}
        return part({ hello: () => "hello" });
      },
    };`;
  const loaded = await folder.load(body, { watchMs: 50, stuckAfterMs: 2_000 });
  await using raw = await startRawHost([loaded]);
  expect(await raw.connect().shakeHands({ ...caps, agent_id: "loops" })).toMatchObject({ ok: false });
  const peer = await raw.open(caps);
  expect(await peer.ask("1", "hello", run)).toMatchObject({ value: "hello" });
});

test("a thread that is blocked by the opening of a session is replaced, though a call waits for it", async () => {
  const flag = join(folder.path, "loops");
  const body = `
    return {
      session() {
        if (existsSync(${JSON.stringify(flag)})) for (;;) {}
        return part({ hello: () => "hello", exit: () => process.exit(3) });
      },
    };`;
  const loaded = await folder.load(body, { watchMs: 50, stuckAfterMs: 2_000 });
  await using raw = await startRawHost([loaded]);
  const peer = await raw.open(caps);
  await writeFile(flag, "");
  expect(await peer.ask("exits", "exit", run)).toMatchObject({ code: "sandbox_crash" });
  expect(await peer.ask("waits", "hello", run)).toMatchObject({ code: "sandbox_crash" });
  await rm(flag);
  expect(await peer.ask("again", "hello", run)).toMatchObject({ value: "hello" });
});
