import { link, mkdir, mkdtemp, open, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { makeWorkspace } from "../suites/confined-run.suite.ts";
import { type Count, countWorkspace } from "./workspace-size.ts";

const mebibyte = 1024 * 1024;
const folderBytes = 4096;

function count(folder: string, options: { except?: string[]; enough?: number } = {}): Count {
  const { except = [], enough = Number.POSITIVE_INFINITY } = options;
  return countWorkspace({ folder, shownAs: folder, except, enough, maxFileBytes: mebibyte });
}

test("a workspace counts the disk space of its files, a file with several names once, and an empty file as 4 KiB", async () => {
  await using workspace = await makeWorkspace();
  const file = join(workspace.path, "file");
  await writeFile(file, Buffer.alloc(mebibyte, 1));
  await link(file, join(workspace.path, "other name"));
  await writeFile(join(workspace.path, "empty"), "");
  await mkdir(join(workspace.path, "folder"));
  await symlink("/usr", join(workspace.path, "folder", "link"));
  const sparse = await open(join(workspace.path, "sparse"), "w");
  await sparse.truncate(100 * mebibyte);
  await sparse.close();
  expect(count(workspace.path).bytes).toBe(mebibyte + 4 * folderBytes);
});

test("a folder of the host in a workspace is not counted, under any name", async () => {
  await using workspace = await makeWorkspace();
  const outside = await mkdtemp(join(tmpdir(), "a2e-size-test-"));
  await mkdir(join(workspace.path, "data"));
  await writeFile(join(workspace.path, "data", "file"), Buffer.alloc(mebibyte, 1));
  await symlink(join(workspace.path, "data"), join(outside, "data"));
  expect(count(workspace.path, { except: [join(outside, "data")] }).bytes).toBe(folderBytes);
  await rm(outside, { recursive: true });
});

test("a count stops as soon as the sum is above the limit", async () => {
  await using workspace = await makeWorkspace();
  for (const name of "abcdefgh") await writeFile(join(workspace.path, name), Buffer.alloc(mebibyte, 1));
  expect(count(workspace.path, { enough: mebibyte }).bytes).toBe(2 * mebibyte);
});

testWith(linux)("folders that are nested too deeply count as infinite bytes", async () => {
  await using workspace = await makeWorkspace();
  let path = workspace.path;
  const opened = [];
  for (let depth = 0; depth < 66; depth++) {
    // Each step is as long as the kernel allows, relative to the last folder.
    const inner = join(path, ...Array.from({ length: 15 }, () => "d".repeat(250)));
    await mkdir(inner, { recursive: true });
    const handle = await open(inner, "r");
    opened.push(handle);
    path = `/proc/self/fd/${handle.fd}`;
  }
  for (const handle of opened) await handle.close();
  expect(count(workspace.path).bytes).toBe(Number.POSITIVE_INFINITY);
});

test("a workspace that does not exist counts as empty", async () => {
  expect(count(join(tmpdir(), "a2e-no-such-folder")).bytes).toBe(0);
});
