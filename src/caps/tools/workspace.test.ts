import { constants } from "node:fs";
import { link, mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { Workspace } from "../../machinery/confinement/workspace.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import type { BuiltinEnvironment } from "./builtin/environment.ts";
import { readFileTool } from "./builtin/read-file.ts";
import { writeFileTool } from "./builtin/write-file.ts";
import { runTool } from "./test-call-context.suite.ts";

let outer: string;
let root: string;
const pool = new WorkerPool();
afterAll(() => pool.close());

beforeEach(async () => {
  outer = await realpath(await mkdtemp(join(tmpdir(), "a2e-workspace-")));
  root = join(outer, "workspace");
  await mkdir(join(root, "folder"), { recursive: true });
  await mkdir(join(outer, "workspace-evil"));
  await writeFile(join(root, "folder", "inside.txt"), "inside");
  await writeFile(join(outer, "secret.txt"), "secret");
  await writeFile(join(outer, "workspace-evil", "secret.txt"), "secret");
});
afterEach(() => rm(outer, { recursive: true, force: true }));

const forbidden = { code: "forbidden" };

// Both ways to open files: through handles, and by path on systems without /proc.
const modes = [true, false].map((hasHandlePaths) => ({ hasHandlePaths }));
const tools = ({ hasHandlePaths }: { hasHandlePaths: boolean }) => {
  const environment = { workspace: new Workspace(root, hasHandlePaths), searchPool: pool } as BuiltinEnvironment;
  const [read, write] = [readFileTool(environment), writeFileTool(environment)];
  return {
    read: (path: string) => runTool(read, { path }),
    write: (path: string, content = "written") => runTool(write, { path, content }),
  };
};

test.each(modes)("paths inside are accepted in any spelling ($hasHandlePaths)", async (mode) => {
  const { read } = tools(mode);
  for (const path of [
    "folder/inside.txt",
    "./folder/inside.txt",
    "folder/../folder//inside.txt",
    join(root, "folder/inside.txt"),
  ]) {
    expect(await read(path)).toMatchObject({ data: { path: "folder/inside.txt", content: "inside" } });
  }
});

test.each(modes)("paths outside are rejected ($hasHandlePaths)", async (mode) => {
  const { read, write } = tools(mode);
  const paths = [
    "../secret.txt",
    "folder/../../secret.txt",
    join(outer, "secret.txt"),
    "/etc/passwd",
    "../workspace-evil/secret.txt",
    "..",
  ];
  for (const path of [...paths, "a\0b", "../secret.txt\0.txt"]) {
    await expect(read(path)).rejects.toMatchObject(forbidden);
    await expect(write(path)).rejects.toMatchObject(forbidden);
  }
  expect(await readFile(join(outer, "secret.txt"), "utf8")).toBe("secret");
});

test.each(modes)(
  "links are followed inside and rejected if they lead outside, also to nowhere ($hasHandlePaths)",
  async (mode) => {
    const { read, write } = tools(mode);
    await symlink("folder/inside.txt", join(root, "good"));
    await symlink("folder", join(root, "good-folder"));
    await symlink("../secret.txt", join(root, "bad"));
    await symlink("..", join(root, "bad-folder"));
    await symlink(join(outer, "new.txt"), join(root, "dangling"));
    await symlink("missing-inside", join(root, "dangling-inside"));
    await symlink("loop", join(root, "loop"));
    await symlink("bad-folder", join(root, "chain"));

    expect(await read("good")).toMatchObject({ data: { content: "inside", path: "folder/inside.txt" } });
    expect(await read("good-folder/inside.txt")).toMatchObject({ data: { content: "inside" } });
    await write("good", "changed through a link");
    expect(await readFile(join(root, "folder", "inside.txt"), "utf8")).toBe("changed through a link");
    for (const path of [
      "bad",
      "bad-folder/secret.txt",
      "chain/secret.txt",
      "dangling",
      "dangling-inside",
      "loop",
      "loop/x",
    ]) {
      await expect(read(path)).rejects.toMatchObject(forbidden);
      await expect(write(path)).rejects.toMatchObject(forbidden);
    }
    await expect(write("bad-folder/new.txt")).rejects.toMatchObject(forbidden);
    await expect(write("dangling/new.txt")).rejects.toMatchObject(forbidden);
    await expect(readFile(join(outer, "new.txt"))).rejects.toThrow("ENOENT");
  },
);

test("no path of dots, slashes and names leaves the workspace", async () => {
  await symlink("..", join(root, "up"));
  await symlink(root, join(root, "self"));
  const workspace = new Workspace(root);
  const part = fc.constantFrom(
    "..",
    ".",
    "",
    "/",
    "folder",
    "up",
    "self",
    "secret.txt",
    "workspace",
    "workspace-evil",
    "\\..",
    "%2e%2e",
    "~",
    "…",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { maxLength: 8 }), fc.boolean(), async (parts, isAbsolute) => {
      const path = (isAbsolute ? `${root}/` : "") + parts.join("/");
      const segments = await workspace.resolve(path).catch((error: { code?: string }) => error.code);
      if (!Array.isArray(segments)) return segments === "forbidden" || segments === undefined;
      const file = await workspace.openFile(segments, constants.O_RDONLY).catch(() => undefined);
      if (file === undefined) return true;
      const content = await file.readFile("utf8");
      await file.close();
      return content === "inside";
    }),
    { numRuns: 500 },
  );
});

test("a folder that is replaced by a link after the check is not entered", async () => {
  const workspace = new Workspace(root);
  const segments = await workspace.resolve("folder/secret.txt");
  await rename(join(root, "folder"), join(root, "old"));
  await symlink(outer, join(root, "folder"));
  await expect(workspace.openFile(segments, constants.O_RDONLY)).rejects.toThrow();
  await expect(workspace.openFolder(["folder"], { create: true })).rejects.toThrow();
  await expect(new Workspace(root, false).openFolder(["folder"])).rejects.toMatchObject(forbidden);
});

test("an open folder stays the one that was checked", async () => {
  const workspace = new Workspace(root);
  const folder = await workspace.openFolder(["folder"]);
  await rename(join(root, "folder"), join(root, "old"));
  await symlink(outer, join(root, "folder"));
  expect(await readFile(`${folder.path}/inside.txt`, "utf8")).toBe("inside");
  await expect(readFile(`${folder.path}/secret.txt`)).rejects.toThrow("ENOENT");
  await folder.close();
});

test("while a folder is repeatedly replaced by a link, nothing outside is read or written", async () => {
  const { read, write } = tools({ hasHandlePaths: true });
  await mkdir(join(root, "spare"));
  await writeFile(join(root, "spare", "secret.txt"), "decoy");
  await symlink(outer, join(root, "link"));
  let isDone = false;
  const swapping = (async () => {
    while (!isDone) {
      await rename(join(root, "spare"), join(root, "target")).catch(() => {});
      await rename(join(root, "target"), join(root, "spare")).catch(() => {});
      await rename(join(root, "link"), join(root, "target")).catch(() => {});
      await rename(join(root, "target"), join(root, "link")).catch(() => {});
    }
  })();
  for (let round = 0; round < 300; round++) {
    const got = await read("target/secret.txt").catch(() => undefined);
    if (got !== undefined) expect(got).toMatchObject({ data: { content: "decoy" } });
    await write("target/planted.txt").catch(() => {});
  }
  isDone = true;
  await swapping;
  await expect(readFile(join(outer, "planted.txt"))).rejects.toThrow("ENOENT");
});

test("a hard link is an ordinary file; replacing it leaves the other name unchanged", async () => {
  const { write } = tools({ hasHandlePaths: true });
  await link(join(outer, "secret.txt"), join(root, "hard"));
  await write("hard", "mine");
  expect(await readFile(join(outer, "secret.txt"), "utf8")).toBe("secret");
});

test("errors contain the agent's path, not the host's", async () => {
  const { read } = tools({ hasHandlePaths: true });
  for (const path of ["missing.txt", "folder", "folder/inside.txt/x", `${"x".repeat(300)}`]) {
    const error = await read(path).then(
      () => new Error("expected a failure"),
      (reason: Error) => reason,
    );
    expect(error.message).not.toContain(outer);
    expect(error.message).not.toContain("/proc");
    expect(error.message).not.toContain("expected a failure");
  }
});
