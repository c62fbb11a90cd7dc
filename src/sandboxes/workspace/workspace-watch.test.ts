import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { makeWorkspace } from "../suites/confined-run.suite.ts";
import { WorkspaceWatch } from "./workspace-watch.ts";

const mebibyte = 1024 * 1024;
const limits = { workspaceBytes: 2 * mebibyte, fileBytes: mebibyte };
const watches: WorkspaceWatch[] = [];

function createWatch(except: string[] = []): WorkspaceWatch {
  const watch = new WorkspaceWatch({ except });
  watches.push(watch);
  return watch;
}

afterEach(async () => {
  for (const watch of watches.splice(0)) await watch.close();
});

test("a workspace is full when it has grown by more than its limit, and not full after it was cleaned up", async () => {
  await using folder = await makeWorkspace();
  await writeFile(join(folder.path, "before"), Buffer.alloc(16 * mebibyte, 1));
  const watch = createWatch();
  const onFull = vi.fn();
  const watching = await watch.open(folder.path, { limits, onFull });
  expect(watching).toMatchObject({ isFull: false });
  await writeFile(join(folder.path, "after"), Buffer.alloc(4 * mebibyte, 1));
  await vi.waitFor(() => expect(onFull).toHaveBeenCalledOnce(), { timeout: 10_000 });
  expect(watching.wasFilled()).toBe(true);

  const second = await watch.open(folder.path, { limits, onFull });
  second.close();
  expect([second.isFull, second.wasFilled()]).toEqual([true, false]);
  await rm(join(folder.path, "after"));
  const third = await watch.open(folder.path, { limits, onFull });
  third.close();
  expect(third.isFull).toBe(false);
});

test("files of the host, inside or outside of a workspace, do not fill it", async () => {
  await using folder = await makeWorkspace();
  const [workspace, data, elsewhere] = ["workspace", "workspace/data", "elsewhere"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string];
  for (const path of [workspace, data, elsewhere]) await mkdir(path);
  const watch = createWatch([data]);
  const onFull = vi.fn();
  // This program reports every byte: when it does, the other has been judged by the same count.
  const witness = vi.fn();
  await watch.open(workspace, { limits, onFull });
  await watch.open(workspace, { limits: { ...limits, workspaceBytes: mebibyte }, onFull: witness });
  for (const path of [elsewhere, data]) await writeFile(join(path, "file"), Buffer.alloc(16 * mebibyte, 1));
  await writeFile(join(workspace, "file"), Buffer.alloc(1.5 * mebibyte, 1));
  await vi.waitFor(() => expect(witness).toHaveBeenCalledOnce(), { timeout: 10_000 });
  expect(onFull).not.toHaveBeenCalled();
});
