import { afterAll, expect, test } from "vitest";
import { Workspace } from "../../../machinery/confinement/workspace.ts";
import { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import { createTestCall, runTool } from "../test-call-context.suite.ts";
import type { BuiltinEnvironment } from "./environment.ts";
import { jsEvalTool } from "./js-eval.ts";

const pool = new WorkerPool();
afterAll(() => pool.close());

function createTool({ memoryMb = 32, timeoutMs = 3000 } = {}) {
  return jsEvalTool({
    workspace: new Workspace("unused"),
    scriptPool: pool,
    js: { memoryMb, timeoutMs },
  } as BuiltinEnvironment);
}

const evaluate = (code: string, input: JsonValue = null) => runTool(createTool(), { code, input });

test("the value of the last expression is returned as JSON", async () => {
  expect(await evaluate("const a = [1, 2, 3]; ({ sum: a.reduce((x, y) => x + y), a })")).toMatchObject({
    data: { sum: 6, a: [1, 2, 3] },
  });
  expect(await evaluate("undefined")).toMatchObject({ data: null });
  expect(await evaluate("() => 1")).toMatchObject({ data: null });
  expect(await evaluate("NaN")).toMatchObject({ data: null });
});

test("input is the argument of that name", async () => {
  expect(await evaluate("input.items.map((n) => n * 2)", { items: [1, 2] })).toMatchObject({ data: [2, 4] });
});

test("a promise is awaited", async () => {
  expect(await evaluate("(async () => { await null; return 'done'; })()")).toMatchObject({ data: "done" });
  expect(await evaluate("new Promise(() => {})")).toMatchObject({ error: expect.stringContaining("promise") });
  expect(await evaluate("Promise.reject(new Error('no'))")).toMatchObject({
    error: expect.stringContaining("Error: no"),
  });
});

test("an error of the script is a result with its message and position", async () => {
  expect(await evaluate("\nmissing.x")).toMatchObject({
    error: expect.stringMatching(/ReferenceError.*missing.*2/),
    error_code: "js_error",
  });
  expect(await evaluate("syntax error here")).toMatchObject({ error: expect.stringContaining("SyntaxError") });
  expect(await evaluate("throw 'text'")).toMatchObject({ error: "uncaught text" });
  expect(await evaluate("1n")).toMatchObject({ error: expect.stringContaining("TypeError") });
  expect(await evaluate("(function f() { f(); })()")).toMatchObject({
    error: expect.stringContaining("stack overflow"),
  });
});

test("a thrown value that is not an error is shown", async () => {
  expect(await evaluate("throw null")).toMatchObject({ error: "uncaught null" });
  expect(await evaluate("throw undefined")).toMatchObject({ error: "uncaught undefined" });
  expect(await evaluate("throw 'a text'")).toMatchObject({ error: "uncaught a text" });
});

test("console lines are log events", async () => {
  const call = createTestCall();
  await runTool(createTool(), { code: "console.log('a', { b: 1 }); console.error(new Error('c')); 1" }, call);
  expect(call.events).toEqual([
    { kind: "log", data: { level: "info", text: 'a {"b":1}' } },
    { kind: "log", data: { level: "error", text: "Error: c" } },
  ]);
});

test.each([
  "typeof process",
  "typeof require",
  "typeof fetch",
  "typeof setTimeout",
  "typeof WebAssembly",
  "typeof globalThis.constructor.constructor('return process')().versions === 'undefined' ? 'undefined' : 'escaped'",
  "typeof console.log.constructor('return typeof process')() && console.log.constructor('return typeof process')()",
  "typeof this.print",
  "(() => { try { return typeof (0, eval)('process'); } catch { return 'undefined'; } })()",
])("the host cannot be reached by %s", async (code) => {
  const guarded = `(() => { try { return (${code}); } catch (e) { return e.name === "ReferenceError" ? "undefined" : String(e); } })()`;
  expect(await evaluate(guarded)).toMatchObject({ data: "undefined" });
});

test("modules cannot be imported", async () => {
  expect(await evaluate("import('node:fs').then(() => 'loaded')")).toMatchObject({ error: expect.any(String) });
  expect(await evaluate("import fs from 'node:fs'; 1")).toMatchObject({
    error: expect.stringContaining("SyntaxError"),
  });
});

test("a script that tampers with JSON and prototypes only changes its own result", async () => {
  expect(await evaluate("JSON.stringify = () => 'not json'; ({ a: 1 })")).toMatchObject({ data: { a: 1 } });
  const output = await evaluate(`({ ["__proto__"]: { polluted: true }, b: 2 })`);
  expect(output.data).toEqual({ b: 2 });
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test("a script leaves nothing for the next", async () => {
  await evaluate("globalThis.leak = 1; Object.prototype.leak = 2;");
  expect(await evaluate("typeof leak + typeof ({}).leak")).toMatchObject({ data: "undefinedundefined" });
});

test.each([
  "for (;;);",
  "const spin = () => { Promise.resolve().then(spin); }; spin()",
  "/(a+)+$/.test('a'.repeat(40) + 'b')",
])("%s is stopped at the time limit", async (code) => {
  const tool = createTool({ timeoutMs: 150 });
  await expect(runTool(tool, { code })).rejects.toMatchObject({ code: "timeout" });
  expect(await evaluate("1 + 1")).toMatchObject({ data: 2 });
});

test.each([
  "const all = []; for (;;) all.push('x'.repeat(100000) + all.length);",
  "const all = []; for (;;) all.push({});",
  "Promise.resolve().then(function grow() { return Promise.resolve().then(grow); })",
  "const all = []; for (;;) all.push(new Array(1000).fill(1));",
  "const all = []; for (;;) all.push({ a: 1 });",
  "const all = []; for (;;) all.push(new Uint8Array(100000));",
  "new Uint8Array(1e9).length",
  "'x'.repeat(5e7)",
])("%s is stopped at the memory limit", async (code) => {
  for (const memoryMb of [16, 64]) {
    const tool = createTool({ memoryMb, timeoutMs: 60_000 });
    await expect(runTool(tool, { code })).rejects.toMatchObject({ code: "out_of_memory" });
  }
});

test("a result larger than the limit is rejected with advice", async () => {
  expect(await evaluate("'x'.repeat(2 * 1024 * 1024)")).toMatchObject({
    error: expect.stringContaining("return less"),
  });
});

test("a cancelled call terminates the script", async () => {
  const call = createTestCall();
  const running = runTool(createTool({ timeoutMs: 60_000 }), { code: "console.log('on'); for (;;);" }, call);
  const outcome = expect(running).rejects.toThrow("enough");
  call.abort(new Error("enough"));
  await outcome;
});
