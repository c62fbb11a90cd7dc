import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { A2EError } from "../../../protocol/errors.ts";
import { defineEnv } from "../define-env.ts";
import { envLimits } from "../limits.ts";
import { discrete } from "../spaces/discrete.ts";
import { startEnv } from "../test-session.suite.ts";
import { orders, sha256, startData } from "./data-host.suite.ts";
import { filterByQuery } from "./data-query.ts";
import { StagedFolders } from "./staged-folders.ts";

test("files are staged with their checksums, listed, and read only on request", async () => {
  await using setup = await startData();
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
  await using setup = await startData();
  const session = await setup.host.open();
  const { items = [] } = await session.call("getData", { query });
  expect(items.map(({ dest }) => dest)).toEqual(expected);
});

test("a part that fails is reported with its reason, leaves no file, and does not stop the other parts", async () => {
  await using setup = await startData();
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
  // The only path in the answer is the one that the agent sent.
  expect(errors.filter((_, at) => at !== 3).join("\n")).not.toContain(setup.folder);
  const { items = [] } = await session.call("getData", {});
  expect(items.map(({ dest }) => dest)).toEqual(["docs/guide.txt", "good.csv", "readme.txt"]);
  expect(items.at(-1)?.checksum).toBe(sha256("pristine"));
});

test("a data root is a name and never a path of the host", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("addData", { data_root: "/other", parts: [{ src: "orders.csv" }] });
  const { items = [] } = await session.call("getData", { data_root: "/other", query: "orders" });
  expect(items).toHaveLength(1);
  expect((await session.call("getData", { query: "orders" })).items).toEqual([]);
  await expect(session.call("getData", { data_root: "../../etc" })).rejects.toMatchObject({ code: "forbidden" });
});

test("a reset restores the baseline, keeps added files with scope baseline, and does not change an episode", async () => {
  await using setup = await startData();
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

test("a session cannot stage more bytes and files than its limits allow", async () => {
  await using bytes = await startData({ max_bytes: 30 });
  const small = await bytes.host.open();
  const two = {
    parts: [
      { src: "orders.csv", dest: "1" },
      { src: "orders.csv", dest: "2" },
    ],
  };
  expect(await small.call("addData", two)).toMatchObject({ added: 1, errors: [expect.stringContaining("room for")] });
  await using files = await startData({ max_files: 3 });
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
  await using setup = await startData();
  await using host = await startEnv({ envs: [reader], data: { sources: [join(setup.folder, "workspace")] } });
  const session = await host.open();
  await session.call("addData", { parts: [{ src: "orders.csv" }] });
  expect((await session.call("reset", { env_name: "reader" })).obs.state).toEqual({ value: orders.length });
});

test("files of sessions that were not used for long are removed, those of open sessions are not", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("resetData", {});
  const root = join(setup.host.folder, "data", "env-data");
  const [name = ""] = readdirSync(root);
  const folders = new StagedFolders(root);
  const leave = folders.enter(() => [name]);
  utimesSync(join(root, name), 1, 1);

  await folders.collect(500_000);
  expect(readdirSync(root)).toEqual([name]);

  leave();
  await folders.collect(500_000);
  expect(readdirSync(root)).toEqual([]);
});

test("a session has a limited number of data roots, and copies of the baseline count as staged files", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  for (let root = 0; root < envLimits.maxDataRoots; root++) await session.call("getData", { data_root: `r${root}` });
  await expect(session.call("getData", { data_root: "one more" })).rejects.toMatchObject({
    code: "schema_violation",
    detail: { limit: "maxDataRoots" },
  });
  expect((await session.call("resetData", { data_root: "r0" })).restored).toBe(2);

  await using narrow = await startData({ max_bytes: "pristine".length + "guide".length + 3 });
  const small = await narrow.host.open();
  await small.call("getData", {});
  await expect(small.call("getData", { data_root: "other" })).rejects.toThrow("no room for another copy");
});

test("data roots with long or unusual names do not collide", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  const long = "ä".repeat(100);
  await session.call("addData", { data_root: `${long}one`, parts: [{ src: "orders.csv" }] });

  expect((await session.call("getData", { data_root: `${long}two`, query: "orders" })).items).toEqual([]);
  expect((await session.call("getData", { data_root: `${long}one`, query: "orders" })).items).toHaveLength(1);
  await expect(session.call("getData", { data_root: "\ud800" })).rejects.toMatchObject({ code: "forbidden" });
});

test("a file is staged next to a file whose name looks like an incomplete copy", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  await session.call("addData", { parts: [{ src: "orders.csv", dest: "x.partial" }] });
  await session.call("addData", { parts: [{ src: "orders.csv", dest: "x" }] });
  await session.call("addData", { parts: [{ src: "orders.csv", dest: "x", checksum: sha256("other") }] });

  const { items = [] } = await session.call("getData", { query: "x*" });
  expect(items.map(({ dest }) => dest)).toEqual(["x", "x.partial"]);
});

test("an empty file is staged, and the error for a very long path is short", async () => {
  await using setup = await startData();
  writeFileSync(join(setup.folder, "workspace", "empty.txt"), "");
  const session = await setup.host.open();

  const { added, errors = [] } = await session.call("addData", {
    parts: [{ src: "empty.txt" }, { src: "x".repeat(100_000) }],
  });

  expect(added).toBe(1);
  expect(errors[0]?.length).toBeLessThan(300);
  expect((await session.call("getData", { query: "empty", include_content: true })).items).toMatchObject([
    { size_bytes: 0, content: "" },
  ]);
});

test("a session without files stores nothing about files", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  session.handle("reset", { env_name: "counter_env" });

  expect([...session.state.entries()].map(([key]) => key)).toEqual(["episode/id-1", "local:episodes"]);
});

test("work on files is aborted with its request or its session, and leaves no partial baseline", async () => {
  await using setup = await startData();
  const session = await setup.host.open();
  const cancel = new AbortController();
  const cancelled = session.call("getData", {}, cancel);
  cancel.abort(new A2EError("cancelled", "not needed"));
  await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });

  const closed = session.call("addData", { parts: [{ src: "orders.csv" }] });
  closed.catch(() => {});
  await session.part.close?.();
  await expect(closed).rejects.toMatchObject({ code: "cancelled" });

  const again = await setup.host.open({ state: session.state });
  expect((await again.call("getData", {})).items?.map(({ dest }) => dest)).toEqual(["docs/guide.txt", "readme.txt"]);
});

test("many files are compared with a query in several turns", async () => {
  const files = Array.from({ length: 1000 }, (_, at) => ({ dest: `${"a".repeat(900)}/${at}` }));
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);

  const found = await filterByQuery(files, `${"*a".repeat(400)}*/7`, new AbortController().signal);
  clearImmediate(timer);

  expect(found.map(({ dest }) => dest.slice(-2))).toEqual(["/7"]);
  expect(turns).toBeGreaterThan(5);
});

test("an answer has a limited number of files and bytes, and reports if there are more", async () => {
  await using setup = await startData();
  const { maxContentBytes, maxDataItems } = envLimits;
  for (const name of ["large-1", "large-2"])
    writeFileSync(join(setup.folder, "workspace", name), Buffer.alloc(maxContentBytes / 2 + 1, "x"));
  const session = await setup.host.open();
  await session.call("addData", { parts: [{ src: "large-1" }, { src: "large-2" }] });

  const read = await session.call("getData", { query: "large*", include_content: true, max_bytes: 1e9 });
  expect(read.items?.map(({ content }) => content?.length)).toEqual([maxContentBytes / 2 + 1, undefined]);
  expect(read.truncated).toBe(true);

  const parts = Array.from({ length: maxDataItems + 1 }, (_, at) => ({ src: "orders.csv", dest: `many/${at}` }));
  await session.call("addData", { parts });
  const { items, truncated } = await session.call("getData", { query: "many" });
  expect([items?.length, truncated]).toEqual([maxDataItems, true]);
});

test("the host removes old files regularly while it runs", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    await using host = await startEnv({}, { now: () => 2 * envLimits.dataKeptMs });
    const root = join(host.folder, "data", "env-data");
    mkdirSync(join(root, "abandoned"), { recursive: true });
    utimesSync(join(root, "abandoned"), 1, 1);

    vi.advanceTimersByTime(envLimits.dataCollectIntervalMs);

    await expect.poll(() => readdirSync(root)).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});
