import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { makeWorkspace } from "../suites/confined-run.suite.ts";
import { WorkspaceWatch } from "./workspace-watch.ts";

const mebibyte = 1024 * 1024;
const pollMs = 5;

test("what others write elsewhere on the disk is not put down to programs, nor what the host writes beside them", async () => {
  await using folder = await makeWorkspace();
  const [workspace, elsewhere] = [join(folder.path, "workspace"), join(folder.path, "elsewhere")];
  const data = join(workspace, "data");
  await mkdir(data, { recursive: true });
  await mkdir(elsewhere);
  await writeFile(join(workspace, "before"), Buffer.alloc(16 * mebibyte, 1));
  await pause(20);
  const watch = new WorkspaceWatch({ except: [data], pollMs });
  const onFull = vi.fn();
  const watching = await watch.open(workspace, 2 * mebibyte, onFull);
  for (const path of [elsewhere, data]) await writeFile(join(path, "file"), Buffer.alloc(16 * mebibyte, 1));
  await pause(pollMs * 40);
  expect([onFull.mock.calls.length, watching.isFull, watching.wasFilled()]).toEqual([0, false, false]);

  await writeFile(join(workspace, "after"), Buffer.alloc(4 * mebibyte, 1));
  await vi.waitFor(() => expect(onFull).toHaveBeenCalledOnce(), { timeout: 10_000 });
  expect(watching.wasFilled()).toBe(true);
  expect((await watch.open(workspace, 2 * mebibyte, onFull)).isFull).toBe(true);
  await rm(join(workspace, "after"));
  const last = await watch.open(workspace, 2 * mebibyte, onFull);
  expect(last.isFull).toBe(false);
});

test("nothing is looked at while no program runs", async () => {
  await using folder = await makeWorkspace();
  const watch = new WorkspaceWatch({ pollMs });
  const set = vi.spyOn(globalThis, "setInterval");
  const clear = vi.spyOn(globalThis, "clearInterval");
  const watchings = [await watch.open(folder.path, 1, () => {}), await watch.open(folder.path, 1, () => {})];
  expect(set).toHaveBeenCalledOnce();
  for (const watching of watchings) watching.close();
  expect(clear).toHaveBeenCalledWith(set.mock.results[0]?.value);
  vi.restoreAllMocks();
});
