import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { silentLogger } from "../../plugin/logger.ts";
import { testKilledProcess } from "../killed-process.suite.ts";
import { useTemporaryFolder } from "../temporary-folder.suite.ts";
import { createFileSnapshotStore } from "./file-snapshot-store.ts";
import { testSnapshotStore } from "./snapshot-store.suite.ts";

const newPlace = useTemporaryFolder();
const open = (dir: string) => createFileSnapshotStore({ dir });
const about = { label: "a label", created_at: 1 };

testSnapshotStore("file snapshot store", { open, newPlace, isPersistent: true });
testKilledProcess("file snapshot store", {
  open,
  newPlace,
  module: new URL("./file-snapshot-store.ts", import.meta.url),
  openInChild: "store.createFileSnapshotStore({ dir: place })",
});

/** A store with two snapshots, the file of the newer snapshot, and the entries that the store logs. */
async function startWithTwo() {
  const dir = newPlace();
  const warn = vi.fn();
  const store = await createFileSnapshotStore({ dir, log: { ...silentLogger, warn } });
  const older = await store.save("session", { count: 1 }, about);
  const newer = await store.save("session", { count: 2, text: "abc" }, about);
  const [folder = ""] = readdirSync(dir);
  return { dir, store, older, newer, warn, path: join(dir, folder, `${newer.snapshot_id}.snapshot`) };
}

const damages: [string, (path: string) => void][] = [
  ["empty", (path) => truncateSync(path, 0)],
  ["cut in its first line", (path) => truncateSync(path, 20)],
  ["cut in its state", (path) => truncateSync(path, readFileSync(path).length - 1)],
  ["longer than its first line states", (path) => writeFileSync(path, "}", { flag: "a" })],
  ["binary", (path) => writeFileSync(path, Buffer.from([0, 255, 10, 128]))],
  ["JSON of another kind", (path) => writeFileSync(path, "null\n{}")],
];

test.each(damages)(
  "a file that is %s is named by load, left out of the list with a warning, and can be deleted",
  async (_, damage) => {
    const { store, older, newer, warn, path } = await startWithTwo();
    damage(path);

    await expect(store.load("session", newer.snapshot_id)).rejects.toThrow(`${path} cannot be read: damaged`);
    await expect(store.load("session")).rejects.toThrow(path);
    expect(await store.list("session")).toEqual([older]);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.any(String), { cause: expect.stringContaining(path) });
    expect((await store.load("session", older.snapshot_id))?.state).toEqual({ count: 1 });
    await store.delete("session", newer.snapshot_id);
    expect((await store.load("session"))?.info).toEqual(older);
    await store.close();
  },
);

test("a state that was altered without breaking its JSON is reported", async () => {
  const { store, path } = await startWithTwo();
  writeFileSync(path, readFileSync(path, "utf8").replace('"abc"', '"abd"'));

  await expect(store.load("session")).rejects.toThrow(`${path} cannot be read: damaged`);
  await store.close();
});

test("a file of a newer format is refused with an error that names the format", async () => {
  const { store, older, warn, path } = await startWithTwo();
  writeFileSync(path, `{"format":"a2e-snapshot","version":2,"what":"ever"}\n{}`);

  await expect(store.load("session")).rejects.toThrow("format version 2 by a newer release");
  expect(await store.list("session")).toEqual([older]);
  expect(warn).toHaveBeenCalledOnce();
  await store.close();
});

test("foreign files and a half-written file are not taken for snapshots, and the id of the latter is skipped", async () => {
  const { store, older, newer, path } = await startWithTwo();
  for (const name of ["notes.txt", "x.snapshot", "12.snapshot", "0000000003.snapshot.part"]) {
    writeFileSync(join(dirname(path), name), "anything");
  }

  expect(await store.list("session")).toEqual([newer, older]);
  expect((await store.save("session", 3, about)).snapshot_id).toBe("0000000004");
  await store.close();
});

test("no key reaches outside the folder, and the names in the folder reveal no key", async () => {
  const dir = join(newPlace(), "inner");
  const store = await createFileSnapshotStore({ dir });
  for (const key of ["..", "../outside", "/tmp/outside", "a/../../outside", "C:\\x", "x".repeat(5000)]) {
    await store.save(key, 1, about);
    await store.delete(key, "../../outside");
  }

  expect(readdirSync(dirname(dir))).toEqual(["inner"]);
  expect(readdirSync(dir).filter((name) => !/^[0-9a-f]{64}$/.test(name))).toEqual([]);
  await store.close();
});

test("deleting a key leaves no file of it behind", async () => {
  const { dir, store, newer } = await startWithTwo();
  await store.delete("session", newer.snapshot_id);
  await store.delete("session");

  expect(readdirSync(dir)).toEqual([]);
  await store.close();
});

test("a save that fails leaves no file and does not delay the next save", async () => {
  const { store, newer, path } = await startWithTwo();
  mkdirSync(`${path.replace(newer.snapshot_id, "0000000003")}.part`);
  await expect(store.save("session", 10n as unknown as number, about)).rejects.toThrow();

  const next = await store.save("session", 3, about);

  expect(next.snapshot_id).toBe("0000000004");
  expect(await store.list("session")).toHaveLength(3);
  await store.close();
});

test("a folder that cannot be made is reported at once", async () => {
  const path = newPlace();
  writeFileSync(path, "a file");

  await expect(createFileSnapshotStore({ dir: path })).rejects.toThrow(path);
});

test("closing waits for the saves under way", async () => {
  const dir = newPlace();
  const store = await createFileSnapshotStore({ dir });
  const saving = [1, 2, 3].map((count) => store.save("session", count, about));
  await store.close();

  const after = await open(dir);
  expect(await after.list("session")).toEqual((await Promise.all(saving)).reverse());
  await after.close();
});
