import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { defineEnv } from "./define-env.ts";
import { discrete } from "./spaces/discrete.ts";
import { reload, startEnv } from "./test-session.suite.ts";

const sha256 = (content: string) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
const orders = "id,total\n1,9.5\n";

/** A host whose workspace has a few files, with a baseline. */
async function start(data: object = {}) {
  const holder = await startEnv();
  const { folder } = holder;
  mkdirSync(join(folder, "workspace", "deep"), { recursive: true });
  mkdirSync(join(folder, "baseline", "docs"), { recursive: true });
  writeFileSync(join(folder, "workspace", "orders.csv"), orders);
  writeFileSync(join(folder, "workspace", "deep", "image.bin"), Buffer.from([0, 255, 254, 1]));
  writeFileSync(join(folder, "baseline", "readme.txt"), "pristine");
  writeFileSync(join(folder, "baseline", "docs", "guide.txt"), "guide");
  writeFileSync(join(folder, "secret.txt"), "secret");
  const host = await startEnv({
    data: { baseline: join(folder, "baseline"), sources: [join(folder, "workspace")], ...data },
  });
  return {
    folder,
    host,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await holder[Symbol.asyncDispose]();
    },
  };
}

test("files are staged with their checksums, listed, and read only on request", async () => {
  await using setup = await start();
  const session = await setup.host.open();

  const added = await session.call("addData", {
    parts: [
      {
        src: "orders.csv",
        dest: "in/orders.csv",
        uri: "orders",
        mime: "text/csv",
        checksum: sha256(orders),
        size_bytes: orders.length,
      },
      { src: "deep/image.bin" },
    ],
  });
  expect(added).toMatchObject({ ok: true, added: 2, errors: [] });

  const listed = await session.call("getData", { query: "*.csv" });
  expect(listed.items).toEqual([
    { uri: "orders", dest: "in/orders.csv", size_bytes: orders.length, checksum: sha256(orders), mime: "text/csv" },
  ]);
  expect(JSON.stringify(listed).length).toBeLessThan(1024);

  const read = await session.call("getData", { include_content: true });
  const contents = Object.fromEntries(
    (read.items ?? []).map(({ dest, content, encoding }) => [dest, [content, encoding]]),
  );
  expect(contents).toEqual({
    "docs/guide.txt": ["guide", "utf-8"],
    "image.bin": [Buffer.from([0, 255, 254, 1]).toString("base64"), "base64"],
    "in/orders.csv": [orders, "utf-8"],
    "readme.txt": ["pristine", "utf-8"],
  });
  const small = await session.call("getData", { include_content: true, max_bytes: 5 });
  expect(small.truncated).toBe(true);
  expect(small.items?.find(({ dest }) => dest === "readme.txt")?.content).toBeUndefined();
});

test.each([
  ["*.txt", ["docs/guide.txt", "readme.txt"]],
  ["docs/*", ["docs/guide.txt"]],
  ["**/guide.???", ["docs/guide.txt"]],
  ["guide", ["docs/guide.txt"]],
  ["*", ["docs/guide.txt", "readme.txt"]],
  ["nothing*", []],
  ["*".repeat(500), ["docs/guide.txt", "readme.txt"]],
])("the query %s finds %j", async (query, expected) => {
  await using setup = await start();
  const session = await setup.host.open();
  const { items = [] } = await session.call("getData", { query });
  expect(items.map(({ dest }) => dest)).toEqual(expected);
});

test("a part that fails says why, leaves nothing behind, and does not stop the others", async () => {
  await using setup = await start();
  symlinkSync(join(setup.folder, "secret.txt"), join(setup.folder, "workspace", "link.txt"));
  symlinkSync(setup.folder, join(setup.folder, "workspace", "up"));
  const session = await setup.host.open();

  const {
    ok,
    added,
    errors = [],
  } = await session.call("addData", {
    parts: [
      { src: "orders.csv", dest: "readme.txt", checksum: sha256("other") },
      { src: "orders.csv", dest: "short.csv", size_bytes: 3 },
      { src: "../secret.txt", dest: "a" },
      { src: join(setup.folder, "secret.txt"), dest: "b" },
      { src: "link.txt", dest: "c" },
      { src: "up/secret.txt", dest: "d" },
      { src: "orders.csv", dest: "../escape.csv" },
      { src: "orders.csv", dest: "a/../../escape.csv" },
      { src: "orders.csv\0", dest: "e" },
      { src: "orders.csv", dest: "readme.txt/inside" },
      { src: "deep", dest: "f" },
      { src: "" },
      { src: "orders.csv", dest: "/good.csv" },
    ],
  });

  expect([ok, added, errors.length]).toEqual([false, 1, 12]);
  expect(errors[0]).toContain("parts[0]: checksum");
  // Its own path is all that an agent reads of paths.
  expect(errors.filter((_, at) => at !== 3).join("\n")).not.toContain(setup.folder);
  const { items = [] } = await session.call("getData", {});
  expect(items.map(({ dest }) => dest)).toEqual(["docs/guide.txt", "good.csv", "readme.txt"]);
  expect(items.at(-1)?.checksum).toBe(sha256("pristine"));
});

test("a data root is a name and never a path of the host", async () => {
  await using setup = await start();
  const session = await setup.host.open();
  await session.call("addData", { data_root: "/other", parts: [{ src: "orders.csv" }] });
  const { items = [] } = await session.call("getData", { data_root: "/other", query: "orders" });
  expect(items).toHaveLength(1);
  expect((await session.call("getData", { query: "orders" })).items).toEqual([]);
  await expect(session.call("getData", { data_root: "../../etc" })).rejects.toMatchObject({ code: "forbidden" });
});

test("a reset restores the baseline, keeps additions where asked, and does not touch an episode", async () => {
  await using setup = await start();
  const session = await setup.host.open();
  await session.call("reset", { env_name: "counter_env" });
  await session.call("addData", { parts: [{ src: "orders.csv" }, { src: "orders.csv", dest: "readme.txt" }] });

  expect(await session.call("resetData", { scope: "baseline" })).toMatchObject({ ok: true, restored: 2 });
  const kept = await session.call("getData", { include_content: true });
  expect(kept.items?.map(({ dest, content }) => [dest, content])).toEqual([
    ["docs/guide.txt", "guide"],
    ["orders.csv", orders],
    ["readme.txt", "pristine"],
  ]);
  expect(await session.call("resetData", {})).toMatchObject({ restored: 2, data_root: "/workspace/data" });
  expect((await session.call("getData", {})).items?.map(({ dest }) => dest)).toEqual(["docs/guide.txt", "readme.txt"]);
  expect(session.handle("observe", {}).obs).toMatchObject({ step_num: 0 });
});

test("sessions and forks have files of their own, and a restart finds them again", async () => {
  await using setup = await start();
  const session = await setup.host.open();
  const stranger = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv", uri: "orders" }] });
  const find = async (reader: typeof session) => (await reader.call("getData", { query: "orders" })).items ?? [];

  const state = session.state.fork();
  session.part.fork?.(state);
  const fork = await setup.host.open({ state });
  await session.call("resetData", {});

  expect(await find(stranger)).toEqual([]);
  expect(await find(session)).toEqual([]);
  expect(await find(fork)).toMatchObject([{ uri: "orders" }]);
  expect(await find(await setup.host.open({ state: reload(fork.state) }))).toMatchObject([{ uri: "orders" }]);
});

test("a session stages no more bytes and files than it may", async () => {
  await using bytes = await start({ max_bytes: 30 });
  const small = await bytes.host.open();
  const two = {
    parts: [
      { src: "orders.csv", dest: "1" },
      { src: "orders.csv", dest: "2" },
    ],
  };
  expect(await small.call("addData", two)).toMatchObject({ added: 1, errors: [expect.stringContaining("room for")] });
  await using files = await start({ max_files: 3 });
  const few = await files.host.open();
  expect(await few.call("addData", two)).toMatchObject({ added: 1, errors: [expect.stringContaining("3 files")] });
});

test("an environment finds the staged files in its folder", async () => {
  const reader = defineEnv({
    name: "reader",
    actionSpace: discrete(1),
    observationSpace: discrete(1000),
    reset: ({ dataDir }) => readFileSync(join(dataDir, "orders.csv")).length,
    step: () => ({}),
  });
  await using setup = await start();
  await using host = await startEnv({ envs: [reader], data: { sources: [join(setup.folder, "workspace")] } });
  const session = await host.open();
  await session.call("addData", { parts: [{ src: "orders.csv" }] });
  expect((await session.call("reset", { env_name: "reader" })).obs.state).toEqual({ value: orders.length });
});

test("data that no session has touched for long is removed at the next start", async () => {
  await using setup = await start();
  const session = await setup.host.open();
  await session.call("resetData", {});
  const root = join(setup.host.folder, "data", "env-data");
  const [name = ""] = readdirSync(root);
  const { removeOldData } = await import("./data-plane.ts");
  await removeOldData(root, 500_000);
  expect(readdirSync(root)).toEqual([name]);
  // The folder is touched once more, a little after the answer.
  await vi.waitFor(async () => {
    utimesSync(join(root, name), 1, 1);
    await removeOldData(root, 500_000);
    expect(readdirSync(root)).toEqual([]);
  });
});
