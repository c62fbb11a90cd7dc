import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Logger, silentLogger } from "../../plugin/logger.ts";
import { A2EError } from "../../protocol/errors.ts";
import { WorkerPool, type WorkerPoolOptions } from "./worker-pool.ts";

const jobs = `
import { threadId } from "node:worker_threads";
export const echo = (args) => args;
export const thread = () => threadId;
export const block = () => { for (;;); };
export const fail = () => { throw new TypeError("no such luck"); };
export const hog = () => { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)); };
export const exit = () => { process.exit(7); };
export const printed = () => { console.log("x"); return "printed"; };
export const print = () => { console.log("to stdout"); };
export const tell = (count, { send }) => { for (let i = 1; i <= count; i++) send(i); return "told"; };
export const untilAborted = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
export const gate = (buffer) => { Atomics.wait(new Int32Array(buffer), 0, 0); return threadId; };
export const unclonable = () => () => {};
export const floating = async (isAwaited) => {
  const failing = Promise.reject(new Error("nobody caught it"));
  if (isAwaited) await new Promise((resolve) => setTimeout(resolve, 60_000));
  return threadId;
};
export const later = () => { setTimeout(() => { throw new Error("late"); }, 10); return threadId; };
export const outlast = () => new Promise((resolve) => setTimeout(() => resolve(threadId), 100));
`;

let folder: string;
let module: string;
const open: WorkerPool[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "a2e-pool-"));
  writeFileSync(join(folder, "jobs.mjs"), jobs);
  module = pathToFileURL(join(folder, "jobs.mjs")).href;
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
});
afterAll(() => rmSync(folder, { recursive: true }));

function createPool(options: WorkerPoolOptions = {}): WorkerPool {
  const pool = new WorkerPool(options);
  open.push(pool);
  return pool;
}

const job = (exportName: string, args: unknown = null) => ({ module, exportName, args });

test("a job gets a copy of its arguments and returns a copy of its result", async () => {
  const args = { list: [1, { two: 2 }] };
  const result = await createPool().run(job("echo", args));
  expect(result).toEqual(args);
  expect(result).not.toBe(args);
});

test("jobs share a worker, one after the other", async () => {
  const pool = createPool({ size: 1 });
  const threads = await Promise.all([pool.run(job("thread")), pool.run(job("thread")), pool.run(job("thread"))]);
  expect(new Set(threads).size).toBe(1);
});

test("as many jobs run at once as the pool has workers", async () => {
  const pool = createPool({ size: 2 });
  const buffer = new SharedArrayBuffer(4);
  const gated = [pool.run(job("gate", buffer)), pool.run(job("gate", buffer))];
  const stop = setInterval(() => Atomics.notify(new Int32Array(buffer), 0), 5);
  const threads = await Promise.all(gated);
  clearInterval(stop);
  expect(new Set(threads).size).toBe(2);
});

test("if one owner uses all workers, an extra worker runs the jobs of other owners, and the owner's own jobs wait", async () => {
  const pool = createPool({ size: 2 });
  const controller = new AbortController();
  const { signal } = controller;
  const busy = [1, 2, 3].map(() => pool.run(job("block"), { owner: "ada", signal }).catch(() => "stopped"));
  const waiting = pool.run(job("echo", "ada's"), { owner: "ada" });

  expect(await pool.run(job("echo", "bob's"), { owner: "bob" })).toBe("bob's");
  expect(await pool.run(job("echo", "nobody's"))).toBe("nobody's");
  expect(await Promise.race([waiting, pool.run(job("echo", "bob's again"), { owner: "bob" })])).toBe("bob's again");
  controller.abort();
  expect(await Promise.all(busy)).toEqual(["stopped", "stopped", "stopped"]);
  expect(await waiting).toBe("ada's");
});

test("an error thrown by a job reaches its caller", async () => {
  await expect(createPool().run(job("fail"))).rejects.toThrow("no such luck");
  await expect(createPool().run(job("absent"))).rejects.toThrow('has no export "absent"');
  await expect(createPool().run({ module: "file:///nowhere.mjs", exportName: "x", args: null })).rejects.toThrow(
    "nowhere.mjs",
  );
});

test("a job that blocks is ended at its timeout and its worker replaced", async () => {
  const pool = createPool({ size: 1 });
  await expect(pool.run(job("block"), { timeoutMs: 50 })).rejects.toMatchObject({ code: "timeout" });
  expect(await pool.run(job("echo", 1))).toBe(1);
});

test("an aborted job rejects with the reason, blocked or waiting", async () => {
  const pool = createPool({ size: 1 });
  const controller = new AbortController();
  const reason = new A2EError("cancelled", "enough");
  const running = pool.run(job("block"), { signal: controller.signal });
  const waiting = pool.run(job("echo"), { signal: controller.signal });
  controller.abort(reason);
  await expect(running).rejects.toBe(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(pool.run(job("echo"), { signal: controller.signal })).rejects.toBe(reason);
  expect(await pool.run(job("echo", 2))).toBe(2);
});

test("a job that heeds the abort keeps its worker", async () => {
  const pool = createPool({ size: 1, abortGraceMs: 60_000 });
  const before = await pool.run(job("thread"));
  const controller = new AbortController();
  const running = pool.run(job("untilAborted"), { signal: controller.signal });
  controller.abort(new Error("stop"));
  await expect(running).rejects.toThrow("stop");
  expect(await pool.run(job("thread"))).toBe(before);
});

test("a worker that exits or exhausts its memory fails its job only", async () => {
  const pool = createPool({ size: 1, resourceLimits: { maxOldGenerationSizeMb: 32 } });
  await expect(pool.run(job("exit"))).rejects.toMatchObject({ code: "sandbox_crash" });
  await expect(pool.run(job("hog"))).rejects.toMatchObject({ code: "out_of_memory" });
  expect(await pool.run(job("echo", 3))).toBe(3);
});

test("an uncaught error ends the worker of its job, and one that occurs after the job ended fails no other job", async () => {
  const texts: unknown[] = [];
  const log: Logger = { ...silentLogger, info: (_message, fields) => void texts.push(fields?.text) };
  const pool = createPool({ size: 1, log });
  await expect(pool.run(job("floating", true))).rejects.toMatchObject({
    code: "sandbox_crash",
    message: "the worker crashed: nobody caught it",
  });

  const threads = [
    await pool.run(job("floating", false)),
    await pool.run(job("later")),
    await pool.run(job("outlast")),
  ];

  expect(new Set(threads).size).toBe(1);
  expect(texts.join()).toContain("late");
});

test("messages arrive in order before the result", async () => {
  const got: unknown[] = [];
  const result = await createPool().run(job("tell", 5), { onMessage: (message) => got.push(message) });
  expect([...got, result]).toEqual([1, 2, 3, 4, 5, "told"]);
});

test("an onMessage callback that throws ends its own job only", async () => {
  const pool = createPool({ size: 1 });
  const onMessage = () => {
    throw new Error("mine");
  };
  await expect(pool.run(job("tell", 3), { onMessage })).rejects.toThrow("mine");
  expect(await pool.run(job("echo", 4))).toBe(4);
});

test("an argument or result that cannot be copied fails the job", async () => {
  const pool = createPool({ size: 1 });
  await expect(pool.run(job("echo", () => {}))).rejects.toThrow("could not be cloned");
  await expect(pool.run(job("unclonable"))).rejects.toThrow("could not be cloned");
  expect(await pool.run(job("echo", 4))).toBe(4);
});

test("jobs beyond the queue limit are refused", async () => {
  const pool = createPool({ size: 1, maxQueuedJobs: 1 });
  const running = pool.run(job("block"), { timeoutMs: 50 });
  const waiting = pool.run(job("echo", 5));
  await expect(pool.run(job("echo"))).rejects.toMatchObject({ code: "rate_limited" });
  await expect(running).rejects.toMatchObject({ code: "timeout" });
  expect(await waiting).toBe(5);
});

test("output printed by a job goes to the log and not to the host's output", async () => {
  const lines: unknown[] = [];
  const log: Logger = { info: (_message, fields) => lines.push(fields), warn() {}, error() {} };
  await createPool({ log }).run(job("print"));
  await expect.poll(() => lines).toEqual([{ text: "to stdout" }]);
});

test("closing ends running and waiting jobs, and closing twice is closing once", async () => {
  const pool = createPool({ size: 1 });
  const running = expect(pool.run(job("block"))).rejects.toMatchObject({ code: "cancelled" });
  const waiting = expect(pool.run(job("echo"))).rejects.toMatchObject({ code: "cancelled" });
  await Promise.all([pool.close(), pool.close()]);
  await Promise.all([running, waiting]);
  await expect(pool.run(job("echo"))).rejects.toMatchObject({ code: "cancelled" });
});

test("a pool that was not closed does not keep a process alive", () => {
  const pool = fileURLToPath(new URL("./worker-pool.ts", import.meta.url));
  const script = `
    const { WorkerPool } = await import(${JSON.stringify(pool)});
    console.log(await new WorkerPool({ idleMs: 600_000 }).run({ module: ${JSON.stringify(module)}, exportName: "printed", args: null }));`;
  const options = { input: script, encoding: "utf8", timeout: 240_000 } as const;
  const output = execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-"], options);
  expect(output).toBe("printed\n");
});

test("an idle worker is ended", async () => {
  const pool = createPool({ size: 1, idleMs: 1 });
  const first = await pool.run(job("thread"));
  await expect.poll(() => pool.run(job("thread"))).not.toBe(first);
});
