import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { memoryLimits } from "./limits.ts";
import { type MemoryHost, type MemorySession, startMemory } from "./memory-host.suite.ts";
import { mergeOverlay } from "./persistent/merge-overlay.ts";
import { Overlays } from "./persistent/overlays.ts";

const tiers = ["working", "episodic", "semantic"] as const;
let host: MemoryHost;
let ada: MemorySession;

beforeEach(async () => {
  host = await startMemory();
  ada = host.open("ada");
  await put(ada, "kept", "as it was");
  await put(ada, "changed", "as it was");
  await put(ada, "deleted", "as it was");
});

afterEach(() => host.close());

function put(session: MemorySession, key: string, content: string, rest = {}) {
  return session.store({ entries: tiers.map((tier) => ({ key, content, tier, tags: [key], ...rest })) });
}

async function contents(session: MemorySession, request = {}): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const tier of tiers) {
    const { entries, total } = await session.retrieve({ tier, ...request });
    const inTier = Object.fromEntries(entries.map(({ key_text, content }) => [key_text, content]));
    expect(total).toBe(entries.length);
    found[tier] = inTier;
  }
  expect(found.episodic).toEqual(found.semantic);
  expect(found.working).toEqual(found.semantic);
  return found.semantic as Record<string, unknown>;
}

const merge = (overlay: string, onConflict: "keep_parent" | "overwrite" = "keep_parent") =>
  mergeOverlay(host.database, overlay, { now: host.clock.now() / 1000, onConflict });

const untouched = { kept: "as it was", changed: "as it was", deleted: "as it was" };

test("a fork starts with the entries of its parent, and its changes stay its own in all tiers", async () => {
  const fork = ada.fork();
  await put(fork, "changed", "in the fork");
  await put(fork, "added", "in the fork");
  expect(await fork.forget({ tier: "", keys: ["deleted"] })).toEqual({ deleted: 3 });

  const changed = { kept: "as it was", changed: "in the fork", added: "in the fork" };
  expect(await contents(fork)).toEqual(changed);
  expect(await contents(fork, { query: "fork" })).toEqual({ changed: "in the fork", added: "in the fork" });
  expect(await contents(fork, { query: "was" })).toEqual({ kept: "as it was" });
  expect(await contents(fork, { tags: ["changed", "deleted"], tags_match: "any" })).toEqual({ changed: "in the fork" });
  expect(await contents(ada)).toEqual(untouched);
  expect(await contents(ada, { query: "fork" })).toEqual({});
  expect(await host.open("ada").keys({ tier: "episodic", query: "fork" })).toEqual([]);
  expect(await host.open("bob").keys({ query: "fork" })).toEqual([]);
});

test("a fork of a fork sees the entries of both ancestors, and not those of its siblings", async () => {
  const fork = ada.fork();
  await put(fork, "added", "by the fork");
  const inner = fork.fork();
  const sibling = fork.fork();
  await put(inner, "added", "by the inner one");
  await inner.forget({ tier: "", keys: ["kept"] });

  expect(await contents(inner)).toEqual({ changed: "as it was", deleted: "as it was", added: "by the inner one" });
  expect(await contents(sibling)).toEqual({ ...untouched, added: "by the fork" });
  expect(await contents(fork)).toEqual({ ...untouched, added: "by the fork" });
});

test("a fork sees later entries of its parent in the persistent tiers, until it writes the same key", async () => {
  const fork = ada.fork();
  await put(fork, "changed", "by the fork");

  await put(ada, "changed", "by the parent");
  await put(ada, "kept", "by the parent");

  const { entries } = await fork.retrieve({ tier: "semantic", query: "parent fork" });
  expect(entries.map(({ key_text, content }) => [key_text, content]).sort()).toEqual([
    ["changed", "by the fork"],
    ["kept", "by the parent"],
  ]);
});

test("a fork compares if_version with the version that it sees", async () => {
  const [read] = (await ada.retrieve({ tier: "semantic", keys: ["changed"] })).entries;
  const fork = ada.fork();
  const write = (content: string, if_version: number) =>
    fork.store({ entries: [{ key: "changed", content, tier: "semantic", if_version }] });

  const [written] = (await write("one", read?.version ?? 0)).stored;
  await expect(write("two", read?.version ?? 0)).rejects.toMatchObject({ code: "version_conflict" });
  expect(written?.created_at).toBe(read?.created_at);
  await write("two", written?.version ?? 0);
  await fork.forget({ tier: "semantic", keys: ["changed"] });
  await write("three", 0);
});

test("an entry that was deleted and stored again in a fork has a new version", async () => {
  const fork = ada.fork();
  const read = (await fork.retrieve({ tier: "", keys: ["deleted"] })).entries;
  await fork.forget({ tier: "", keys: ["deleted"] });
  for (const content of ["one", "two", "three", "four"]) {
    await put(fork, "deleted", content);

    const late = read.map(({ tier, version }) => ({ key: "deleted", content: "late", tier, if_version: version }));
    await expect(fork.store({ entries: late })).rejects.toMatchObject({ code: "version_conflict" });
  }
  expect(read).toHaveLength(3);
});

test("an entry that a fork wrote and that expired still hides the entry below", async () => {
  const fork = ada.fork();
  await put(fork, "changed", "for a while", { ttl: 5 });
  host.clock.advance(6000);

  expect(Object.keys(await contents(fork)).sort()).toEqual(["deleted", "kept"]);
  await put(fork, "other", "which collects");
  expect(Object.keys(await contents(fork)).sort()).toEqual(["deleted", "kept", "other"]);
});

test("a merge brings changes, additions and deletions into the parent", async () => {
  const fork = ada.fork();
  await put(fork, "changed", "in the fork");
  await put(fork, "added", "in the fork");
  await fork.forget({ tier: "", keys: ["deleted"] });

  expect(merge(fork.overlay)).toEqual({ merged: 6, conflicts: [] });

  const { entries } = await ada.retrieve({ tier: "semantic", query: "fork", tags: ["changed"] });
  expect(entries).toMatchObject([{ key_text: "changed", content: "in the fork" }]);
  expect(await ada.keys({ tier: "episodic", query: "added" })).toEqual(["added"]);
  expect(await ada.keys({ tier: "semantic", keys: ["deleted"] })).toEqual([]);
  expect(merge(fork.overlay)).toEqual({ merged: 0, conflicts: [] });
});

test("a merge of a nested fork changes its parent fork only", async () => {
  const fork = ada.fork();
  const inner = fork.fork();
  await inner.forget({ tier: "semantic", keys: ["deleted"] });
  await inner.store({ entries: [{ key: "changed", content: "inner", tier: "semantic" }] });

  expect(merge(inner.overlay)).toMatchObject({ merged: 2, conflicts: [] });

  const contentsOf = async (session: MemorySession) =>
    (await session.retrieve({ tier: "semantic" })).entries.map(({ key_text, content }) => [key_text, content]).sort();
  expect(await contentsOf(fork)).toEqual([
    ["changed", "inner"],
    ["kept", "as it was"],
  ]);
  expect(await contentsOf(ada)).toEqual(Object.entries(untouched).sort());
  expect(merge(fork.overlay)).toMatchObject({ merged: 2, conflicts: [] });
  expect(await contentsOf(ada)).toEqual(await contentsOf(fork));
});

test("entries that both have changed are reported and stay as in the parent, or are overwritten on request", async () => {
  const fork = ada.fork();
  const write = (session: MemorySession, key: string, content: string) =>
    session.store({ entries: [{ key, content, tier: "semantic" }] });
  await write(fork, "changed", "by the fork");
  await fork.forget({ tier: "semantic", keys: ["deleted"] });
  await write(fork, "new", "by the fork");
  await write(ada, "changed", "by the parent");
  await write(ada, "deleted", "by the parent");
  await write(ada, "new", "by the parent");

  const { conflicts, merged } = merge(fork.overlay);

  expect(merged).toBe(0);
  expect(conflicts.map(({ key, fork: what }) => [key.key, what])).toEqual([
    ["deleted", "deleted"],
    ["changed", "changed"],
    ["new", "changed"],
  ]);
  for (const { base_version, parent_version } of conflicts) expect(parent_version).toBeGreaterThan(base_version);
  const now = async () =>
    (await ada.retrieve({ tier: "semantic" })).entries.map(({ key_text, content }) => [key_text, content]).sort();
  const parents = ["changed", "deleted", "new"].map((key) => [key, "by the parent"]);
  expect(await now()).toEqual([...parents, ["kept", "as it was"]].sort());

  expect(merge(fork.overlay, "overwrite")).toMatchObject({ merged: 3, conflicts: { length: 3 } });
  expect(await now()).toEqual([
    ["changed", "by the fork"],
    ["kept", "as it was"],
    ["new", "by the fork"],
  ]);
});

test("overlays are stored while a session uses them, and for a while after", async () => {
  const fork = ada.fork();
  await put(fork, "added", "x");
  const inner = fork.fork();
  await put(inner, "more", "y");
  const overlays = new Overlays(host.database);
  const count = (table: string) => host.database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count;
  const now = () => host.clock.now() / 1000;
  overlays.enter([fork.overlay, inner.overlay], now());
  overlays.enter([fork.overlay], now());
  host.clock.advance(100_000);

  overlays.leave([fork.overlay, inner.overlay], now());
  overlays.collect(now(), 50);
  expect(count("memory_overlay")).toBe(2);
  host.clock.advance(51_000);
  overlays.collect(now(), 50);
  expect(host.database.prepare("SELECT id FROM memory_overlay").all()).toEqual([{ id: fork.overlay }]);
  overlays.leave([fork.overlay], now());
  host.clock.advance(51_000);
  overlays.collect(now(), 50);

  expect(host.database.prepare("SELECT id FROM memory_space WHERE overlay <> ''").all()).toEqual([]);
  for (const table of ["memory_entry", "memory_tag"]) expect(count(table), table).toBe(6);
  expect(count("memory_overlay")).toBe(0);
});

test("a fork whose overlay was collected continues with the entries of its parent", async () => {
  const fork = ada.fork();
  await put(fork, "added", "x");
  new Overlays(host.database).collect(host.clock.now() / 1000 + 1, 0);

  const back = host.open("ada", fork.state);
  expect(await back.keys({ tier: "semantic", keys: ["added", "kept"] })).toEqual(["kept"]);
  await back.store({ entries: [{ key: "later", content: "y", tier: "semantic" }] });

  expect(ada.merge(back)).toEqual({ merged: 1, conflicts: [] });
  expect(await ada.keys({ tier: "semantic", keys: ["later"] })).toEqual(["later"]);
});

test("a merge of an unknown overlay is an error", () => {
  expect(() => merge("nothing")).toThrow('there is no overlay "nothing"');
});

test("a fork inherits the cache of the working tier without reading the entries again", async () => {
  const forked = ada.state.fork();
  ada.part.fork?.(forked);
  const read = vi.spyOn(forked, "entries");
  const fork = host.open("ada", forked);
  await put(ada, "changed", "in the parent");

  await fork.store({ entries: [{ key: "added", content: 1, tier: "working" }] });
  expect(await contents(fork, { tier: "working" })).toMatchObject({ ...untouched, added: 1 });

  expect(read).not.toHaveBeenCalled();
  expect(await ada.keys({ tier: "working", keys: ["added"] })).toEqual([]);
});

test("a fork evicts in the order of use that its parent had", async () => {
  await using small = await startMemory({ working: { max_entries: 3 } });
  const parent = small.open("ada");
  const store = (session: MemorySession, key: string) =>
    session.store({ entries: [{ key, content: key, tier: "working" }] });
  for (const key of ["a", "b", "c"]) await store(parent, key);
  await parent.retrieve({ tier: "working", keys: ["a"] });
  const fork = parent.fork();
  await store(parent, "p");
  await store(fork, "f");
  await store(fork, "g");

  expect((await fork.keys({ tier: "working" })).sort()).toEqual(["a", "f", "g"]);
  expect((await parent.keys({ tier: "working" })).sort()).toEqual(["a", "c", "p"]);
});

test("the overlay of a fork has lower limits, since it is searched without an index", async () => {
  const fork = ada.fork();
  const half = "x".repeat(200_000);
  const entries = Array.from({ length: 25 }, (_, at) => ({ key: { at }, content: half, tier: "semantic" as const }));

  const { stored, error_details } = await fork.store({ entries });

  expect(stored.length).toBe(Math.floor(memoryLimits.maxOverlayBytes / 200_016));
  expect(error_details[0]).toMatchObject({ code: "memory_full", message: expect.stringContaining("4194304 bytes") });
  const many = Array.from({ length: memoryLimits.maxOverlayEntries + 1 }, (_, at) => ({ key: { at }, content: 1 }));
  const other = await ada.fork().store({ entries: many });
  expect(other.stored).toHaveLength(many.length);
  expect((await ada.store({ entries: many })).stored).toHaveLength(many.length);
});

test("an entry that a fork evicts leaves no tombstone if nothing is below it", async () => {
  await using small = await startMemory({ episodic: { max_entries: 2 } });
  const fork = small.open("ada").fork();
  for (let at = 0; at < 20; at++) await fork.store({ entries: [{ key: { at }, content: at, event_at: at }] });

  expect(await fork.keys()).toHaveLength(2);
  expect(small.database.prepare("SELECT count(*) AS count FROM memory_entry").get()?.count).toBe(2);
});

test("a merge respects the limits of the parent: it evicts, or reports entries that do not fit", async () => {
  await using small = await startMemory({
    episodic: { max_entries: 2, on_full: "evict" },
    semantic: { max_entries: 2, on_full: "refuse" },
  });
  const parent = small.open("ada");
  const store = (session: MemorySession, key: string, event_at: number) =>
    session.store({
      entries: (["episodic", "semantic"] as const).map((tier) => ({ key, content: 1, tier, event_at })),
    });
  await store(parent, "a", 1);
  const fork = parent.fork();
  await store(fork, "b", 2);
  await fork.store({ entries: [{ key: "c", content: 1, tier: "semantic" }] });
  await fork.store({ entries: [{ key: "d", content: 1, event_at: 4 }] });

  expect(parent.merge(fork)).toEqual({ merged: 3, conflicts: ["semantic/default/c: memory_full"] });

  expect(await parent.keys({ tier: "episodic" })).toEqual(["d", "b"]);
  expect(await parent.keys({ tier: "semantic" })).toEqual(["b", "a"]);
  await parent.forget({ tier: "semantic", keys: ["a"] });
  expect(parent.merge(fork)).toEqual({ merged: 1, conflicts: [] });
});

test("a merge uses the room that its deletions make, in any order", async () => {
  await using small = await startMemory({
    episodic: { max_entries: 2, on_full: "evict" },
    semantic: { max_entries: 2, on_full: "refuse" },
  });
  const parent = small.open("ada");
  const store = (session: MemorySession, key: string, event_at: number) =>
    session.store({
      entries: (["episodic", "semantic"] as const).map((tier) => ({ key, content: 1, tier, event_at })),
    });
  await store(parent, "a", 1);
  await store(parent, "b", 2);
  const fork = parent.fork();
  await store(fork, "c", 3);
  await fork.forget({ tier: "", keys: ["b"] });

  expect(parent.merge(fork)).toEqual({ merged: 4, conflicts: [] });

  expect(await parent.keys({ tier: "episodic" })).toEqual(["c", "a"]);
  expect(await parent.keys({ tier: "semantic" })).toEqual(["c", "a"]);
});

test("entries of an agent without an id are removed long after its sessions have ended, its shared entries are not", async () => {
  const nameless = host.open("");
  await put(nameless, "mine", "x");
  const again = host.open("", nameless.state);
  nameless.close();
  const overlays = new Overlays(host.database);
  const spaces = () =>
    host.database.prepare("SELECT count(*) AS count FROM memory_space WHERE owner LIKE '%session%'").get()?.count;
  const later = () => host.clock.now() / 1000 + 100;
  const tables = () =>
    host.database.prepare("SELECT count(*) AS count FROM sqlite_schema WHERE name GLOB 'memory_text_*'").get()?.count;
  const before = Number(tables());

  expect(spaces()).toBe(1);
  again.close();
  overlays.collect(later(), 50);

  expect(spaces()).toBe(0);
  expect(Number(tables())).toBeLessThan(before);
  expect(await ada.keys({ tier: "semantic", keys: ["mine"] })).toEqual(["mine"]);
  expect(await ada.keys({ tier: "episodic" })).toHaveLength(3);
  const back = host.open("", nameless.state);
  expect(await back.keys({ tier: "episodic" })).toEqual([]);
  await put(back, "mine", "y");
  expect(await back.keys({ tier: "episodic", query: "y" })).toEqual(["mine"]);
});
