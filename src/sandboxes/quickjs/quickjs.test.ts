import { afterAll, expect, test } from "vitest";
import { defaultSandboxLimits } from "../../config/sandbox.ts";
import type { ScriptRun } from "../../plugin/ports/sandbox.ts";
import { createQuickJs } from "./quickjs.ts";

const sandbox = createQuickJs({ defaults: defaultSandboxLimits });
afterAll(() => sandbox.close());

function run(source: string, options: Partial<ScriptRun> = {}) {
  return sandbox.run({ source, input: null, limits: {}, signal: new AbortController().signal, ...options });
}

test("the default export is called with the input and its value is returned as JSON", async () => {
  const source = "export default ({ items }) => ({ sum: items.reduce((a, b) => a + b) })";
  expect(await run(source, { input: { items: [1, 2, 3] } })).toEqual({ sum: 6 });
  expect(await run("export default () => undefined")).toBeNull();
  expect(await run("await null; export default async (text) => text + '!'", { input: "a" })).toBe("a!");
});

test("functions of the host are called by name and return JSON", async () => {
  const source = `export default async () => {
    const both = await Promise.all([double({ value: 2 }), double({ value: 3 })]);
    return both.map(({ value }) => value);
  }`;
  const functions = {
    double: async (argument: unknown) => ({ value: (argument as { value: number }).value * 2 }),
  };
  expect(await run(source, { functions })).toEqual([4, 6]);
});

test("a function of the host that fails throws inside the script", async () => {
  const functions = { refuse: () => Promise.reject(new Error("not for you")) };
  expect(await run("export default () => refuse().catch((error) => error.message)", { functions })).toBe("not for you");
  await expect(run("export default () => refuse()", { functions })).rejects.toMatchObject({
    code: "runtime_error",
    message: expect.stringContaining("not for you"),
  });
});

test("a value that is nested too deeply is rejected, as a result and as an argument", async () => {
  const nested = "const nest = (depth) => { let value = []; while (--depth > 0) value = [value]; return value; };";
  const asked: unknown[] = [];
  const functions = { ask: async (argument: unknown) => asked.push(argument) };
  const tooDeep = { code: "runtime_error", message: expect.stringContaining("nested deeper than 256") };

  await expect(run(`${nested} export default () => nest(3000)`)).rejects.toMatchObject(tooDeep);
  await expect(run(`${nested} export default () => ask(nest(3000))`, { functions })).rejects.toMatchObject(tooDeep);
  expect(asked).toEqual([]);
  expect(JSON.stringify(await run(`${nested} export default () => nest(256)`))).toHaveLength(512);
});

test("a script that breaks its interpreter is a sandbox_crash", async () => {
  const source = "export default () => (0, eval)('['.repeat(200_000))";
  await expect(run(source)).rejects.toMatchObject({ code: "sandbox_crash" });
  expect(await run("export default () => 1")).toBe(1);
});

test("the time that a script waits for the host does not count towards its timeout", async () => {
  const functions = {
    later: async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return "late";
    },
  };
  expect(await run("export default () => later()", { functions, limits: { cpuSeconds: 0.2 } })).toBe("late");
});

test.each([
  ["throw new TypeError('bad'); export default 1", "TypeError: bad"],
  ["export default () => { throw new Error('no') }", "Error: no"],
  ["export default async () => missing()", "ReferenceError"],
  ["export const other = 1", "default export"],
  ["this is no script", "SyntaxError"],
  ["export default () => new Promise(() => {})", "is never resolved"],
  ["import fs from 'node:fs'; export default () => fs", "node:fs"],
  ["export default () => import('node:fs')", "node:fs"],
])("%s is a runtime_error with a reason", async (source, message) => {
  await expect(run(source)).rejects.toMatchObject({
    code: "runtime_error",
    message: expect.stringContaining(message),
  });
});

test.each([
  "export default () => { for (;;); }",
  "for (;;); export default 1",
  "export default async () => { const spin = () => Promise.resolve().then(spin); await spin(); }",
  "export default () => /(a+)+$/.test('a'.repeat(40) + 'b')",
])("%s times out", async (source) => {
  await expect(run(source, { limits: { cpuSeconds: 0.15 } })).rejects.toMatchObject({ code: "timeout" });
  expect(await run("export default () => 1")).toBe(1);
});

test.each([
  "export default () => { const all = []; for (;;) all.push('x'.repeat(100000) + all.length); }",
  "export default async () => { const all = []; for (;;) all.push(new Uint8Array(100000)); }",
])("%s is stopped at its memory limit", async (source) => {
  const limits = { memoryBytes: 16 * 1024 * 1024, cpuSeconds: 60 };
  await expect(run(source, { limits })).rejects.toMatchObject({ code: "out_of_memory" });
});

test("a script finds no objects of the host", async () => {
  const source = `export default () => {
    const names = ["process", "require", "fetch", "setTimeout", "WebAssembly", "Buffer", "Worker"];
    const reach = (code) => { try { return typeof globalThis.constructor.constructor(code)(); } catch { return "undefined"; } };
    return [...names.map((name) => typeof globalThis[name]), reach("return process"), reach("return call")];
  }`;
  expect(new Set((await run(source)) as string[])).toEqual(new Set(["undefined"]));
});

test("a script cannot call other functions than the given ones, or flood the host with calls", async () => {
  const functions = { wait: () => new Promise<never>(() => {}) };
  await expect(
    run("export default async () => { for (;;) { wait(); } }", { functions, limits: { cpuSeconds: 0.3 } }),
  ).rejects.toMatchObject({ code: expect.stringMatching(/timeout|runtime_error|out_of_memory/) });
  await expect(run("export default () => wait.constructor('return toString()')()", { functions: {} })).rejects.toThrow(
    "ReferenceError",
  );
});

test("a script cannot fill the host's memory with one call, many calls, or its result", async () => {
  let asked = 0;
  const functions = {
    ask: async (text: unknown) => {
      asked += String(text).length;
      return null;
    },
  };
  const limits = { memoryBytes: 128 * 1024 * 1024, cpuSeconds: 20 };
  const many =
    "export default () => { const text = 'x'.repeat(3e6); return Promise.all([1, 2, 3].map(() => ask(text))); }";
  for (const source of [many, "export default () => ask('x'.repeat(9e6))", "export default () => 'x'.repeat(9e6)"])
    await expect(run(source, { functions, limits })).rejects.toMatchObject({
      code: "runtime_error",
      message: expect.stringContaining("more than 8388608"),
    });
  expect(asked).toBeLessThan(9e6);
  // In sequence they are not a flood.
  const patient = "export default async () => { for (let n = 0; n < 5; n++) await ask('x'.repeat(3e6)); return 1; }";
  expect(await run(patient, { functions, limits })).toBe(1);
});

test("an aborted run rejects with the reason and leaves the sandbox usable", async () => {
  const controller = new AbortController();
  const functions = {
    ready: async () => {
      controller.abort(new Error("enough"));
      return null;
    },
  };
  const running = run("export default async () => { ready(); for (;;) await null; }", {
    functions,
    signal: controller.signal,
  });
  await expect(running).rejects.toThrow("enough");
  expect(await run("export default () => 2")).toBe(2);
});
