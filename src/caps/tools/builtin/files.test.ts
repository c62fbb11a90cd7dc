import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { Workspace } from "../../../machinery/confinement/workspace.ts";
import { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { toolLimits } from "../limits.ts";
import { createTestCall, runTool } from "../test-call-context.suite.ts";
import { type BuiltinName, builtinTools } from "./all.ts";
import type { BuiltinEnvironment } from "./environment.ts";

let root: string;
let environment: BuiltinEnvironment;
const pool = new WorkerPool();
afterAll(() => pool.close());

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "a2e-files-"));
  environment = { workspace: new Workspace(root), searchPool: pool } as BuiltinEnvironment;
});
afterEach(() => rm(root, { recursive: true, force: true }));

const run = (name: BuiltinName, args: JsonObject, call = createTestCall()) =>
  runTool(builtinTools[name](environment), args, call);

async function fill(files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), content);
  }
}

test("read_file returns the requested lines and the offset of the next", async () => {
  await fill({ "a.txt": "one\ntwo\nthree\nfour" });
  expect(await run("read_file", { path: "a.txt" })).toMatchObject({
    data: { content: "one\ntwo\nthree\nfour", lines: 4 },
    truncated: false,
  });
  expect(await run("read_file", { path: "a.txt", offset: 1, limit: 2 })).toMatchObject({
    data: { content: "two\nthree\n", lines: 2, offset: 1 },
    truncated: true,
    summary: "there is more: continue with offset 3",
  });
  expect(await run("read_file", { path: "a.txt", offset: 9 })).toMatchObject({
    data: { content: "", lines: 0 },
    truncated: false,
  });
});

test("read_file cuts at its limit without cutting a character", async () => {
  await fill({ "big.txt": "ü".repeat(toolLimits.maxReadBytes) });
  const { data, truncated } = await run("read_file", { path: "big.txt" });
  const { content } = data as { content: string };
  expect(truncated).toBe(true);
  expect(Buffer.byteLength(content)).toBeLessThanOrEqual(toolLimits.maxReadBytes);
  expect(content).toMatch(/^ü+$/);
});

test("read_file reads across chunk borders", async () => {
  const text = Array.from({ length: 20_000 }, (_, index) => `line ${index} €`).join("\n");
  await fill({ "long.txt": text });
  expect(await run("read_file", { path: "long.txt", offset: 0 })).toMatchObject({
    data: { content: text, lines: 20_000 },
  });
});

test("read_file rejects a binary file as text and returns it as base64", async () => {
  await writeFile(join(root, "b.bin"), Buffer.from([0, 1, 2, 255]));
  await expect(run("read_file", { path: "b.bin" })).rejects.toThrow("base64");
  expect(await run("read_file", { path: "b.bin", encoding: "base64" })).toMatchObject({
    data: { content: "AAEC/w==" },
    truncated: false,
  });
  expect(await run("read_file", { path: "b.bin", encoding: "base64", offset: 1, limit: 2 })).toMatchObject({
    data: { content: "AQI=" },
    truncated: true,
  });
});

test("read_file of a pipe fails instead of waiting for a writer", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  await expect(run("read_file", { path: "pipe" })).rejects.toThrow("not a regular file");
  await expect(run("write_file", { path: "pipe", content: "x" })).rejects.toThrow("not a regular file");
  await expect(run("write_file", { path: "pipe", content: "x", append: true })).rejects.toThrow("not a regular file");
});

test("write_file creates folders, replaces, appends and keeps the mode", async () => {
  expect(await run("write_file", { path: "x/y/z.txt", content: "one" })).toMatchObject({
    data: { path: "x/y/z.txt", bytes_written: 3, created: true },
  });
  await chmod(join(root, "x/y/z.txt"), 0o640);
  expect(await run("write_file", { path: "x/y/z.txt", content: "two" })).toMatchObject({ data: { created: false } });
  await run("write_file", { path: "x/y/z.txt", content: "IQ==", encoding: "base64", append: true });
  expect(await readFile(join(root, "x/y/z.txt"), "utf8")).toBe("two!");
  expect((await stat(join(root, "x/y/z.txt"))).mode & 0o777).toBe(0o640);
  expect(await readdir(join(root, "x/y"))).toEqual(["z.txt"]);
});

test("write_file leaves nothing behind when it fails", async () => {
  await mkdir(join(root, "folder"));
  await expect(run("write_file", { path: "folder", content: "x" })).rejects.toThrow("not a regular file");
  await expect(run("write_file", { path: ".", content: "x" })).rejects.toThrow("workspace itself");
  expect(await readdir(root)).toEqual(["folder"]);
});

test("list_dir shows types and sizes, recurses only on request, and never follows links", async () => {
  await fill({ "a.txt": "12345", "sub/b.txt": "1", "sub/deep/c.txt": "", ".git/config": "x" });
  await symlink("..", join(root, "sub", "up"));
  const names = async (args: JsonObject) =>
    ((await run("list_dir", args)).data as { entries: { path: string }[] }).entries.map(({ path }) => path);

  expect((await run("list_dir", {})).data).toEqual({
    path: ".",
    entries: [
      { path: ".git", type: "folder" },
      { path: "a.txt", type: "file", size_bytes: 5 },
      { path: "sub", type: "folder" },
    ],
  });
  expect(await names({ recursive: true })).toEqual([
    ".git",
    "a.txt",
    "sub",
    "sub/b.txt",
    "sub/deep",
    "sub/up",
    "sub/deep/c.txt",
  ]);
  expect(await names({ recursive: true, max_depth: 2, path: "sub" })).toEqual([
    "sub/b.txt",
    "sub/deep",
    "sub/up",
    "sub/deep/c.txt",
  ]);
  expect(await run("list_dir", { recursive: true, max_entries: 2 })).toMatchObject({
    truncated: true,
    data: { entries: { length: 2 } },
  });
  await expect(run("list_dir", { path: "nope" })).rejects.toThrow("does not exist");
  await expect(run("list_dir", { path: "sub/up/.." })).resolves.toBeDefined();
});

test("glob finds files by pattern", async () => {
  await fill({ "src/a.ts": "", "src/b.md": "", "src/in/c.ts": "", "node_modules/d.ts": "", "e.ts": "" });
  const paths = async (args: JsonObject) => ((await run("glob", args)).data as { paths: string[] }).paths;
  expect(await paths({ pattern: "**/*.ts" })).toEqual(["e.ts", "src/a.ts", "src/in/c.ts"]);
  expect(await paths({ pattern: "src/*.{ts,md}" })).toEqual(["src/a.ts", "src/b.md"]);
  expect(await paths({ pattern: "*.ts", path: "src" })).toEqual(["src/a.ts"]);
  expect(await paths({ pattern: "**/d.ts", include_ignored: true })).toEqual(["node_modules/d.ts"]);
  expect(await run("glob", { pattern: "**", max_results: 1 })).toMatchObject({ truncated: true });
});

test("grep finds lines with their context and skips binary files", async () => {
  await fill({ "a.txt": "alpha\nbeta\ngamma\n", "b.md": "BETA\r\n", "c.bin": "beta\0" });
  expect((await run("grep", { pattern: "^beta$" })).data).toEqual({
    matches: [{ path: "a.txt", line: 2, text: "beta" }],
  });
  expect((await run("grep", { pattern: "beta", ignore_case: true, glob: "*.md" })).data).toEqual({
    matches: [{ path: "b.md", line: 1, text: "BETA" }],
  });
  expect((await run("grep", { pattern: "beta", path: "a.txt", context: 1 })).data).toEqual({
    matches: [{ path: "a.txt", line: 2, text: "beta", before: ["alpha"], after: ["gamma"] }],
  });
  expect(await run("grep", { pattern: "a", max_results: 2 })).toMatchObject({
    truncated: true,
    data: { matches: { length: 2 } },
  });
  await expect(run("grep", { pattern: "(" })).rejects.toThrow("not a valid regular expression");
  await expect(run("grep", { pattern: "x", path: "../.." })).rejects.toMatchObject({ code: "forbidden" });
});

test("read_file returns whole lines, so that continuing misses and repeats nothing", async () => {
  const line = `${"x".repeat(toolLimits.maxReadBytes / 4)}\n`;
  await fill({ "long.txt": line.repeat(6) });
  const first = await run("read_file", { path: "long.txt" });
  expect(first).toMatchObject({ truncated: true, summary: "there is more: continue with offset 3" });
  const rest = await run("read_file", { path: "long.txt", offset: 3 });
  expect([first, rest].map(({ data }) => (data as { content: string }).content)).toEqual([
    line.repeat(3),
    line.repeat(3),
  ]);
});

test("read_file of a line that is too long explains how to continue", async () => {
  await fill({ "minified.js": `${"x".repeat(toolLimits.maxReadBytes + 1)}\nlast` });
  const { data, truncated, summary } = await run("read_file", { path: "minified.js" });
  expect((data as { content: string }).content).toBe("x".repeat(toolLimits.maxReadBytes));
  expect([truncated, summary]).toEqual([true, expect.stringMatching(/^line 1 is longer .*base64.* at offset 1$/)]);
  expect(await run("read_file", { path: "minified.js", offset: 1 })).toMatchObject({ data: { content: "last" } });
});

test("write_file rejects invalid base64, and keeps the file", async () => {
  await fill({ "a.txt": "kept" });
  const wrong = run("write_file", { path: "a.txt", content: "Hello, world", encoding: "base64" });
  await expect(wrong).rejects.toThrow("content is not base64");
  expect(await readFile(join(root, "a.txt"), "utf8")).toBe("kept");
  await run("write_file", { path: "a.txt", content: "aGVs\r\nbG8=", encoding: "base64" });
  expect(await readFile(join(root, "a.txt"), "utf8")).toBe("hello");
});

test("grep and glob cut results beyond their limit, and report it", async () => {
  const line = `${"x".repeat(toolLimits.maxShownLineLength)}\n`;
  await fill({ "many.txt": line.repeat(3000) });
  const found = await run("grep", { pattern: "x", context: 20, max_results: toolLimits.maxEntries });
  expect(found.truncated).toBe(true);
  expect(Buffer.byteLength(JSON.stringify(found.data))).toBeLessThan(toolLimits.maxSearchBytes + 100_000);
  const name = "n".repeat(200);
  await fill(
    Object.fromEntries(Array.from({ length: 700 }, (_, index) => [`${name}/${name}/${name}/${name}${index}`, ""])),
  );
  const paths = await run("glob", { pattern: "**", max_results: toolLimits.maxEntries });
  expect(paths.truncated).toBe(true);
  expect((paths.data as { paths: string[] }).paths.length).toBeGreaterThan(500);
});

test("a cancelled glob is terminated, however slow its pattern", async () => {
  const name = "a".repeat(245);
  await fill(Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`${name}${index}`, ""])));
  const call = createTestCall();
  // 64 different alternatives, each of which is tried at every position of every name.
  const pattern = `${"{a,aa}".repeat(6)}*${"a".repeat(120)}b`;
  const running = run("glob", { pattern }, call);
  await nextTurn();
  call.abort(new A2EError("cancelled", "enough"));
  await expect(running).rejects.toMatchObject({ code: "cancelled" });
  await expect(run("glob", { pattern: "{a,b}".repeat(20) })).rejects.toThrow("alternatives in braces");
});

test("grep with a catastrophic pattern is stopped and never blocks the host", async () => {
  await fill({ "evil.txt": `${"a".repeat(50)}b` });
  const call = createTestCall();
  const running = run("grep", { pattern: "^(a+)+$" }, call);
  const outcome = expect(running).rejects.toThrow("out of time");
  // The event loop still turns while the worker is stuck.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  call.abort(new Error("out of time"));
  await outcome;
  expect((await run("grep", { pattern: "b$" })).data).toMatchObject({ matches: [{ path: "evil.txt" }] });
});
