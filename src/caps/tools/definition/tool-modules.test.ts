import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createTestCall, startTools } from "../test-call-context.suite.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-modules-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A tool without `defineTool`, because these modules are outside of the package. */
const toolText = (name: string, run: string) => `{
  name: "${name}", description: "d", kind: "function", tags: [], version: "1.0.0", source: "",
  inputSchema: { type: "object", properties: { n: { type: "integer", default: 1 } }, additionalProperties: false },
  isIdempotent: false, isStreaming: false, isDeferred: false,
  check: (value) => value.n === 13 ? { problems: [{ path: "n", message: "unlucky" }] } : { value },
  run: ${run},
}`;

async function add(path: string, text: string): Promise<void> {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), text);
}

const start = (modules: string[], more: object = {}) =>
  startTools({ builtin: false, modules, base_dir: folder, ...more });

test("tools are loaded from files, folders and packages, as exports or as a list", async () => {
  await add("one.js", `export const one = ${toolText("one", "() => ({ data: 1 })")}; export const other = 5;`);
  await add("many/a.mjs", `const x = ${toolText("a", "() => ({ data: 1 })")}; export const tools = [x]; export { x };`);
  await add("many/b.js", `export const b = ${toolText("b", "() => ({ data: 1 })")};`);
  await add("many/b.test.js", "throw new Error('not a module of tools')");
  await add("many/notes.txt", "");
  await add(
    "node_modules/pack/package.json",
    '{ "name": "pack", "type": "module", "exports": { "import": "./main.js" } }',
  );
  await add("node_modules/pack/main.js", `export const p = ${toolText("p", "() => ({ data: 1 })")};`);
  await using host = await start(["./one.js", "many"], { tool_modules: ["pack"] });
  expect(host.list()).toEqual(["one", "a", "b", "p"]);
  expect(host.catalogue.get("one")?.source).toBe(join(folder, "one.js"));
});

test.each(["none", "worker"])(
  "a module that fails to load stops the start with its path and the cause (isolation %s)",
  async (isolation) => {
    await add("broken.js", "throw new Error('boom at load');");
    await add("syntax.js", "export const = 1;");
    await add("empty.js", "export const nothing = 1;");
    await add("odd.js", "export const tools = [{ name: 'x' }];");
    await add("void/readme.md", "");
    await expect(start(["broken.js"], { isolation })).rejects.toThrow(/broken\.js failed to load: boom at load/);
    await expect(start(["syntax.js"], { isolation })).rejects.toThrow(/syntax\.js failed to load/);
    await expect(start(["empty.js"], { isolation })).rejects.toThrow(/empty\.js exports no tool/);
    await expect(start(["odd.js"], { isolation })).rejects.toThrow(/odd\.js: tools\[0\] was not made with defineTool/);
    await expect(start(["./missing.js"], { isolation })).rejects.toThrow(/there is no file or folder .*missing\.js/);
    await expect(start(["no-such-package"], { isolation })).rejects.toThrow(/no-such-package failed to load/);
    await expect(start(["void"], { isolation })).rejects.toThrow(/void: there is no module/);
  },
);

test("isolated tools run in a thread and behave like others", async () => {
  await add(
    "iso.js",
    `import { isMainThread } from "node:worker_threads";
     export const where = ${toolText("where", "() => ({ data: { isMainThread } })")};
     export const add = ${toolText("add", "({ n }, { emit, log }) => { emit('progress', { n }); log.info('x'); return Promise.resolve({ data: n + 1, summary: 's' }); }")};
     export const fails = ${toolText("fails", "() => { throw new Error('inside'); }")};
     export const nested = ${toolText("nested", "(_, context) => context.call({}, {})")};`,
  );
  await using host = await start(["iso.js"], { isolation: "worker" });
  expect(await host.call("where")).toMatchObject({ data: { data: { isMainThread: false } } });
  expect(await host.call("add")).toMatchObject({
    data: { data: 2, summary: "s", events: [{ kind: "progress", data: { n: 1 }, seq: 1 }] },
  });
  await expect(host.call("add", { m: 1 })).rejects.toMatchObject({ code: "schema_violation" });
  await expect(host.call("add", { n: 13 })).rejects.toMatchObject({
    code: "schema_violation",
    message: expect.stringContaining("unlucky"),
  });
  await expect(host.call("fails")).rejects.toMatchObject({ code: "tool_error", message: "inside" });
  await expect(host.call("nested")).rejects.toMatchObject({ code: "forbidden" });
});

test("an isolated tool that blocks is terminated with its call, and others are not affected", async () => {
  await add(
    "block.js",
    `export const block = ${toolText("block", "() => { for (;;); }")};
     export const fine = ${toolText("fine", "() => ({ data: 'fine' })")};
     export const brief = { ...${toolText("brief", "() => { for (;;); }")}, timeoutMs: 50 };
     export const quit = ${toolText("quit", "() => process.exit(1)")};`,
  );
  await using host = await start(["block.js"], { isolation: "worker", workers: 2 });
  const call = createTestCall();
  const blocked = expect(host.call("block", {}, call)).rejects.toThrow("time is up");
  expect(await host.call("fine")).toMatchObject({ data: { data: "fine" } });
  call.abort(new Error("time is up"));
  await blocked;
  await expect(host.call("brief")).rejects.toMatchObject({ code: "timeout" });
  await expect(host.call("quit")).rejects.toMatchObject({ code: "sandbox_crash" });
  expect(await host.call("fine")).toMatchObject({ data: { data: "fine" } });
});
