import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toolkitLimits } from "../../limits.ts";
import { startToolkits } from "../../start-toolkits.suite.ts";

async function start(
  config: { root?: string; writable?: boolean } = {},
  options: { folders?: string[]; writable_folders?: string[] } = {},
) {
  const host = await startToolkits({ builtin: ["filesystem"], ...options });
  mkdirSync(join(host.workspaceDir, "docs", "deep"), { recursive: true });
  writeFileSync(join(host.workspaceDir, "outside.txt"), "outside the root");
  writeFileSync(join(host.workspaceDir, "docs", "a.txt"), "inside");
  writeFileSync(join(host.folder, "secret.txt"), "outside the workspace");
  const answer = await host.configure("filesystem", { root: "docs", ...config });
  const at = (path: string) => join(host.workspaceDir, "docs", path);
  return { ...host, answer, at };
}

test("files are listed, read, written and removed below the root", async () => {
  await using host = await start({ writable: true });
  expect(await host.call("filesystem__list")).toEqual({
    path: ".",
    entries: [
      { name: "a.txt", type: "file", size_bytes: 6 },
      { name: "deep", type: "folder" },
    ],
  });
  expect(await host.call("filesystem__read", { path: "a.txt" })).toMatchObject({ content: "inside", size_bytes: 6 });
  expect(await host.call("filesystem__write", { path: "new/b.txt", content: "ünï" })).toEqual({
    path: "new/b.txt",
    bytes_written: 5,
    created: true,
  });
  expect(readFileSync(host.at("new/b.txt"), "utf8")).toBe("ünï");
  await host.call("filesystem__write", { path: "new/b.txt", content: "AAEC", encoding: "base64" });
  expect(await host.call("filesystem__read", { path: "new/b.txt", encoding: "base64" })).toMatchObject({
    content: "AAEC",
  });
  await expect(host.call("filesystem__remove", { path: "new" })).rejects.toMatchObject({ code: "tool_error" });
  await host.call("filesystem__remove", { path: "new/b.txt" });
  await host.call("filesystem__remove", { path: "new/" });
  expect(existsSync(host.at("new"))).toBe(false);
});

test("without write access, there is no tool that writes", async () => {
  await using host = await start();
  expect(await host.toolNames()).toEqual(["filesystem__list", "filesystem__read"]);
  expect(host.answer.toolkit.tools).toEqual(["filesystem__list", "filesystem__read"]);
  await expect(host.call("filesystem__write", { path: "a.txt", content: "" })).rejects.toMatchObject({
    code: "unknown_tool",
  });
});

const escapes = [
  "../outside.txt",
  "deep/../../outside.txt",
  "/etc/passwd",
  "link.txt",
  "up/outside.txt",
  "far/secret.txt",
  "a.txt/../../outside.txt",
  "..",
  "nowhere",
  "\u0000",
];

test.each(escapes)("%j cannot be read, listed, written or removed", async (path) => {
  await using host = await start({ writable: true });
  symlinkSync(join(host.workspaceDir, "outside.txt"), host.at("link.txt"));
  symlinkSync("..", host.at("up"));
  symlinkSync(host.folder, host.at("far"));
  symlinkSync(join(host.folder, "not-there"), host.at("nowhere"));
  const refusal = { code: expect.stringMatching(/forbidden|tool_error/) };
  for (const tool of ["read", "list"])
    await expect(host.call(`filesystem__${tool}`, { path })).rejects.toMatchObject(refusal);
  await expect(host.call("filesystem__write", { path, content: "gotcha" })).rejects.toMatchObject(refusal);
  if (!["link.txt", "nowhere"].includes(path))
    await expect(host.call("filesystem__remove", { path })).rejects.toMatchObject(refusal);
  expect(readFileSync(join(host.workspaceDir, "outside.txt"), "utf8")).toBe("outside the root");
  expect(readFileSync(join(host.folder, "secret.txt"), "utf8")).toBe("outside the workspace");
  expect(existsSync(join(host.folder, "not-there"))).toBe(false);
});

test("a link within the root is followed, and remove removes the link itself", async () => {
  await using host = await start({ writable: true });
  symlinkSync("a.txt", host.at("b.txt"));
  expect(await host.call("filesystem__read", { path: "b.txt" })).toMatchObject({ path: "a.txt", content: "inside" });
  symlinkSync(join(host.folder, "secret.txt"), host.at("c.txt"));
  await host.call("filesystem__remove", { path: "c.txt" });
  expect(existsSync(join(host.folder, "secret.txt"))).toBe(true);
});

test("a root that is replaced by a link later is not followed", async () => {
  await using host = await start({ writable: true });
  renameSync(host.at("."), join(host.workspaceDir, "moved"));
  symlinkSync(host.folder, join(host.workspaceDir, "docs"));
  await expect(host.call("filesystem__read", { path: "secret.txt" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(host.call("filesystem__write", { path: "x.txt", content: "" })).rejects.toMatchObject({
    code: "forbidden",
  });
});

test.each(["..", "/", "/etc", "link", "docs/../.."])("%j is not accepted as root", async (root) => {
  await using host = await start();
  symlinkSync(host.folder, join(host.workspaceDir, "link"));
  const answer = await host.kits.install({ toolkit_name: "filesystem", alias: "other", config: { root } });
  expect(answer).toMatchObject({ status: "partial", error: expect.stringContaining("folders") });
});

test("a root that is missing or a file is an error; a writable root is created", async () => {
  await using host = await start();
  for (const root of ["missing", "outside.txt"])
    expect(await host.configure("filesystem", { root }).catch((error: unknown) => error)).toMatchObject({
      code: "toolkit_error",
    });
  expect(await host.configure("filesystem", { root: "made/now", writable: true })).toMatchObject({ status: "ok" });
});

test("folders of the operator can be used as roots, for reading or for writing", async () => {
  await using other = await start();
  const readable = join(other.workspaceDir, "docs");
  await using host = await start(
    { root: readable },
    { folders: [readable], writable_folders: [join(other.workspaceDir, "w")] },
  );
  expect(await host.call("filesystem__read", { path: "a.txt" })).toMatchObject({ content: "inside" });
  await expect(host.configure("filesystem", { root: readable, writable: true })).rejects.toThrow("is read-only");
  await host.configure("filesystem", { root: join(other.workspaceDir, "w"), writable: true });
  await host.call("filesystem__write", { path: "x", content: "y" });
  expect(readFileSync(join(other.workspaceDir, "w", "x"), "utf8")).toBe("y");
});

test("a long text is read in parts that do not split characters", async () => {
  await using host = await start();
  const text = `x${"€".repeat(200_000)}`;
  writeFileSync(host.at("long.txt"), text);
  const read = async (offset: number) =>
    (await host.client.tools.call({ tool_name: "filesystem__read", arguments: { path: "long.txt", offset } })).data;
  const first = await read(0);
  const { content } = first.data as { content: string };
  expect(first.truncated).toBe(true);
  const rest = await read(Buffer.byteLength(content));
  expect(content + (rest.data as { content: string }).content).toBe(text);
  expect(rest.truncated).toBe(false);
  linkSync(host.at("long.txt"), host.at("hard.txt"));
  writeFileSync(host.at("binary"), Buffer.from([1, 0, 2]));
  await expect(host.call("filesystem__read", { path: "binary" })).rejects.toThrow("base64");
  await expect(host.call("filesystem__read", { path: "deep" })).rejects.toMatchObject({ code: "tool_error" });
});

test("a text that is not UTF-8 is read to its end, byte for byte", async () => {
  await using host = await start();
  // Latin-1: each character is one byte, and three bytes as the replacement character.
  const bytes = Buffer.alloc(toolkitLimits.maxReadBytes + 10, 0xe9);
  writeFileSync(host.at("latin.txt"), bytes);
  let [offset, characters] = [0, 0];
  for (let isCut = true; isCut; ) {
    const { data } = await host.client.tools.call({
      tool_name: "filesystem__read",
      arguments: { path: "latin.txt", offset },
    });
    const { content } = data.data as { content: string };
    expect(Buffer.byteLength(content)).toBeLessThanOrEqual(toolkitLimits.maxReadBytes);
    characters += content.length;
    isCut = data.truncated === true;
    if (isCut) offset = Number(/offset (\d+)/.exec(String(data.summary))?.[1]);
  }
  expect(characters).toBe(bytes.length);
});

test("content that is not base64, or too large, is not written", async () => {
  await using host = await start({ writable: true });
  const write = (content: string, encoding: string) =>
    host.call("filesystem__write", { path: "a.txt", content, encoding });
  await expect(write("Hello, world", "base64")).rejects.toThrow("content is not base64");
  await expect(write("ü".repeat(toolkitLimits.maxWriteBytes / 2 + 1), "utf8")).rejects.toThrow("more than 4194304");
  expect(readFileSync(host.at("a.txt"), "utf8")).toBe("inside");
});

test("a folder with too many entries is listed in part, and marked as truncated", async () => {
  await using host = await start({ root: "many", writable: true });
  for (let index = 0; index <= toolkitLimits.maxEntries; index++)
    writeFileSync(join(host.workspaceDir, "many", `${index}`), "");
  const { data } = await host.client.tools.call({ tool_name: "filesystem__list", arguments: {} });
  expect([data.truncated, (data.data as { entries: unknown[] }).entries.length]).toEqual([
    true,
    toolkitLimits.maxEntries,
  ]);
});
