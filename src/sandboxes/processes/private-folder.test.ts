import { spawnSync } from "node:child_process";
import { chown, mkdir, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { removeAbandonedFolders } from "./private-folder.ts";

testWith(linux)("folders of a killed host are removed, but not folders of another user", async () => {
  const { pid } = spawnSync("true");
  const [namespace] = /\d+/.exec(await readlink("/proc/self/ns/pid")) ?? [];
  const left = join(tmpdir(), `a2e-${namespace}-${pid}-left`);
  const planted = join(tmpdir(), `a2e-${namespace}-${pid}-planted`);
  try {
    await mkdir(left);
    await mkdir(planted);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chown(planted, 12_345, 12_345);
    await removeAbandonedFolders();

    await expect(stat(left)).rejects.toMatchObject({ code: "ENOENT" });
    if (isRoot) expect((await stat(planted)).isDirectory()).toBe(true);
  } finally {
    for (const path of [left, planted]) await rm(path, { recursive: true, force: true });
  }
});
