import { describe, expect, test, vi } from "vitest";
import { memoryLimits } from "./limits.ts";
import { startMemory } from "./memory-host.suite.ts";

const tiers = ["working", "episodic", "semantic"] as const;
const entries = (tier: (typeof tiers)[number], ...keys: string[]) => ({
  entries: keys.map((key, index) => ({ key, content: `content of ${key}`, tier, event_at: index })),
});

describe.each(tiers)("a full %s tier", (tier) => {
  test("rejects new entries with memory_full, and still accepts changes of old ones", async () => {
    await using host = await startMemory({ [tier]: { max_entries: 2, on_full: "refuse" } });
    const ada = host.open("ada");
    const { stored, error_details } = await ada.store(entries(tier, "a", "b", "c"));

    expect(stored).toHaveLength(2);
    expect(error_details).toMatchObject([{ index: 2, code: "memory_full" }]);
    await expect(ada.store(entries(tier, "d"))).rejects.toMatchObject({ code: "memory_full", retryable: false });
    expect((await ada.store(entries(tier, "a"))).stored).toHaveLength(1);
    await ada.forget({ tier, keys: ["b"] });
    expect((await ada.store(entries(tier, "d"))).stored).toHaveLength(1);
  });

  test("evicts if it is configured to", async () => {
    await using host = await startMemory({ [tier]: { max_entries: 2, on_full: "evict" } });
    const ada = host.open("ada");

    const { stored } = await ada.store(entries(tier, "a", "b", "c"));

    expect(stored).toHaveLength(3);
    expect(await ada.keys({ tier })).toEqual(["c", "b"]);
    expect(await ada.keys({ tier, query: "content" })).toHaveLength(2);
  });

  test("evicts the least recently changed entry of those with the same event_at", async () => {
    await using host = await startMemory({ [tier]: { max_entries: 2, on_full: "evict" } });
    const ada = host.open("ada");
    for (const key of ["a", "b", "a", "c"]) await ada.store({ entries: [{ key, content: key, tier, event_at: 5 }] });

    expect(await ada.keys({ tier })).toEqual(["c", "a"]);
  });

  test("counts bytes as well, and evicts only if that makes enough room", async () => {
    await using host = await startMemory({ [tier]: { max_bytes: 2000, on_full: "evict" } });
    const ada = host.open("ada");
    const store = (key: string, length: number) =>
      ada.store({ entries: [{ key, content: "x".repeat(length), tier, event_at: length }] });
    await store("a", 900);
    await store("b", 901);
    await store("c", 902);

    expect(await ada.keys({ tier })).toEqual(["c", "b"]);
    await expect(store("d", 3000)).rejects.toMatchObject({ code: "memory_full" });
    expect(await ada.keys({ tier })).toEqual(["c", "b"]);
    // The entry grows in its place, so the other entry must be evicted.
    await store("c", 1900);
    expect(await ada.keys({ tier })).toEqual(["c"]);
  });

  test("counts an entry that replaces an expired one once", async () => {
    await using host = await startMemory({ [tier]: { max_bytes: 2000, on_full: "evict" } });
    const ada = host.open("ada");
    const store = (key: string, length: number, ttl = 0) =>
      ada.store({ entries: [{ key, content: "x".repeat(length), tier, ttl }] });
    await store("a", 900, 1);
    await store("b", 900);
    host.clock.advance(2000);
    await store("a", 1500);

    expect(await ada.keys({ tier })).toEqual(["a"]);
  });
});

test("the working tier evicts the least recently used entry, even after its state was restored", async () => {
  await using host = await startMemory({ working: { max_entries: 3 } });
  const ada = host.open("ada");
  await ada.store(entries("working", "a", "b", "c"));
  await ada.retrieve({ tier: "working", keys: ["a"] });

  const again = host.open("ada", ada.state);
  await again.store(entries("working", "d"));

  expect((await again.keys({ tier: "working" })).sort()).toEqual(["a", "c", "d"]);
});

test("only entries in the answer of a search count as used, the best match as the most recent", async () => {
  await using host = await startMemory({ working: { max_entries: 3 } });
  const ada = host.open("ada");
  await ada.store(entries("working", "a", "b", "c"));
  await ada.store({ entries: [{ key: "newest", content: "content", tier: "episodic", event_at: 9 }] });

  expect(await ada.keys({ keys: ["a", "newest"], limit: 1 })).toEqual(["newest"]);
  await ada.store(entries("working", "d"));
  expect(await ada.keys({ tier: "working", query: "b c d", limit: 2 })).toEqual(["c", "b"]);
  await ada.store(entries("working", "e", "f"));

  expect((await ada.keys({ tier: "working" })).sort()).toEqual(["c", "e", "f"]);
});

test("a session whose state was restored continues with that state", async () => {
  await using host = await startMemory({ working: { max_entries: 3 } });
  const ada = host.open("ada");
  await ada.store(entries("working", "a", "b"));
  const saved = [...ada.state.entries()];
  await ada.store(entries("working", "c", "d"));

  ada.state.replace(saved);

  expect((await ada.keys({ tier: "working" })).sort()).toEqual(["a", "b"]);
  await ada.store(entries("working", "e"));
  expect((await ada.keys({ tier: "working" })).sort()).toEqual(["a", "b", "e"]);
});

test("content that is larger than the limit of an entry is rejected", async () => {
  await using host = await startMemory({ max_entry_bytes: 10 });

  const { stored, error_details } = await host.open("ada").store({
    entries: [
      { key: "a", content: "x".repeat(9) },
      { key: "b", content: "short" },
    ],
  });

  expect(stored.map(({ key_text }) => key_text)).toEqual(["b"]);
  expect(error_details).toMatchObject([{ code: "schema_violation", message: expect.stringContaining("11 bytes") }]);
});

test("an answer has at most as many entries as the host allows, and the total counts all of them", async () => {
  await using host = await startMemory({ max_results: 2 });
  const ada = host.open("ada");
  await ada.store(entries("episodic", "a", "b", "c"));

  expect(await ada.retrieve({ limit: 100 })).toMatchObject({ entries: { length: 2 }, total: 3 });
});

test("a session and an agent can create a limited number of memories", async () => {
  await using host = await startMemory({ max_memories: 2, max_spaces_per_agent: 2 });
  const ada = host.open("ada");
  await ada.init({ namespace: "one" });
  await ada.store(entries("semantic", "a"));
  await ada.init({ namespace: "two" });
  await ada.init({ namespace: "one" });
  await expect(ada.init({ namespace: "three" })).rejects.toMatchObject({ code: "memory_full" });

  await ada.store(entries("episodic", "a"));
  const later = host.open("ada");
  await expect(later.store(entries("episodic", "a"))).rejects.toMatchObject({ code: "memory_full" });
  expect((await host.open("bob").store(entries("episodic", "a"))).stored).toHaveLength(1);
});

test("keys and tags may be as long as their limits, and not longer", async () => {
  await using host = await startMemory();
  const { maxKeyLength, maxTagLength } = memoryLimits;
  const key = "k".repeat(maxKeyLength - '{"key":""}'.length);
  const tag = "t".repeat(maxTagLength);

  const { stored, error_details } = await host.open("ada").store({
    entries: [
      { key, content: 1, tags: [tag] },
      { key: `${key}k`, content: 1 },
      { key: "a", content: 1, tags: [`${tag}t`] },
    ],
  });

  expect(stored).toHaveLength(1);
  expect(error_details.map(({ message }) => message)).toEqual([
    expect.stringContaining("key is longer than 1024"),
    expect.stringContaining("tag is longer than 256"),
  ]);
});

test.each(tiers)("a query of the %s tier is read up to its limits in words and characters", async (tier) => {
  await using host = await startMemory();
  const ada = host.open("ada");
  const { maxQueryLength, maxQueryWords } = memoryLimits;
  await ada.store({ entries: [{ key: "a", content: "needle", tier }] });
  const other = (count: number) => Array.from({ length: count }, (_, at) => `w${at}`).join(" ");

  expect(await ada.keys({ tier, query: `${other(maxQueryWords - 1)} needle` })).toEqual(["a"]);
  expect(await ada.keys({ tier, query: `${other(maxQueryWords)} needle` })).toEqual([]);
  expect(await ada.keys({ tier, query: `x${" ".repeat(maxQueryLength - 10)} needle` })).toEqual(["a"]);
  expect(await ada.keys({ tier, query: `x${" ".repeat(maxQueryLength)} needle` })).toEqual([]);
});

test("expired entries are collected regularly while the host runs, a limited number at a time", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    await using host = await startMemory();
    const { collectIntervalMs, maxCollected } = memoryLimits;
    const many = Array.from({ length: maxCollected + 5 }, (_, at) => ({ key: { at }, content: at, ttl: 1 }));
    await host.open("ada").store({ entries: many });
    const count = () => host.database.prepare("SELECT count(*) AS count FROM memory_entry").get()?.count;
    host.clock.advance(2000);

    expect(count()).toBe(maxCollected + 5);
    vi.advanceTimersByTime(collectIntervalMs);
    expect(count()).toBe(5);
    vi.advanceTimersByTime(collectIntervalMs);
    expect(count()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ["refuse", "episodic"],
  ["evict", "semantic"],
] as const)("expired entries do not take up room even before they are collected (%s)", async (on_full, tier) => {
  await using host = await startMemory({ [tier]: { max_entries: memoryLimits.maxCollected + 1, on_full } });
  const ada = host.open("ada");
  const store = (ttl: number, ...keys: string[]) =>
    ada.store({ entries: keys.map((key) => ({ key, content: key, tier, ttl })) });
  const many = Array.from({ length: memoryLimits.maxCollected }, (_, at) => `${at}`);
  // The first entries to be collected, and as many as one request collects.
  await store(1, ...many);
  await ada.init({ namespace: "full" });
  await store(0, "kept");
  await store(2, ...many);
  host.clock.advance(5000);

  await store(0, "new");

  expect((await ada.keys({ tier })).sort()).toEqual(["kept", "new"]);
});

test("a scope with too many fields is rejected", async () => {
  await using host = await startMemory();
  const scope = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`f${index}`, "x"]));

  await expect(host.open("ada").init({ scope })).rejects.toMatchObject({ code: "schema_violation" });
});

test("bytes are counted in UTF-8, and those of key, tags and source count as well", async () => {
  await using host = await startMemory({ max_entry_bytes: 100, episodic: { max_bytes: 1100, on_full: "refuse" } });
  const ada = host.open("ada");
  const { error_details } = await ada.store({
    entries: [
      { key: "a", content: "ä".repeat(90) },
      { key: "b", content: 1, tags: Array.from({ length: 5 }, (_, at) => `${at}`.repeat(200)) },
      { key: "c", content: 1, source: "x".repeat(1000) },
      { key: "d", content: 1, source: "x".repeat(1025) },
    ],
  });

  expect(error_details.map(({ index, code }) => [index, code])).toEqual([
    [0, "schema_violation"],
    [2, "memory_full"],
    [3, "schema_violation"],
  ]);
  expect(error_details[0]?.message).toContain("182 bytes");
  expect(error_details[2]?.message).toContain("source");
});

test.each(tiers)(
  "an answer of the %s tier has at most as many bytes as the host allows, and reports that it was cut",
  async (tier) => {
    await using host = await startMemory();
    const ada = host.open("ada");
    const content = `word ${"ä".repeat(120_000)}`;
    for (let at = 0; at < 30; at++) await ada.store({ entries: [{ key: { at }, content, tier, event_at: at }] });

    for (const query of ["", "word"]) {
      const { entries: found, total, truncated } = await ada.retrieve({ tier, query, limit: 1000 });
      expect([total, truncated]).toEqual([30, true]);
      expect(Buffer.byteLength(JSON.stringify(found))).toBeLessThanOrEqual(memoryLimits.maxAnswerBytes);
      expect(found.length).toBeGreaterThan(10);
      if (query === "") expect(found[0]?.key).toEqual({ at: 29 });
    }
    expect((await ada.retrieve({ tier, limit: 3 })).truncated).toBeUndefined();
    expect((await ada.retrieve({ tier, limit: 1000, until: 3 })).entries).toHaveLength(3);
  },
);

test("a search with too many keys or tags is rejected", async () => {
  await using host = await startMemory();
  const ada = host.open("ada");
  const many = (count: number) => Array.from({ length: count }, String);

  for (const conditions of [{ keys: many(10_001) }, { tags: many(1001) }])
    for (const attempt of [ada.retrieve(conditions), ada.forget(conditions)])
      await expect(attempt).rejects.toMatchObject({ code: "schema_violation" });
});

describe.each(tiers)("many conditions on the %s tier", (tier) => {
  test("work as few conditions do, with repeated ones", async () => {
    await using host = await startMemory();
    const ada = host.open("ada");
    await ada.store({
      entries: [
        { key: "a", content: 1, tier, tags: ["x", "y", "x"], event_at: 1 },
        { key: "b", content: 2, tier, tags: ["x"], event_at: 2 },
        { key: "c", content: 3, tier, event_at: 3 },
      ],
    });
    const others = Array.from({ length: 500 }, (_, at) => `other ${at}`);

    expect(await ada.keys({ tier, keys: [...others, "a", "c", "a"] })).toEqual(["c", "a"]);
    expect(await ada.keys({ tier, tags: ["x", "x", "y"] })).toEqual(["a"]);
    expect(await ada.keys({ tier, tags: [...others, "x"], tags_match: "any" })).toEqual(["b", "a"]);
    expect(await ada.keys({ tier, tags: [...others, "x"] })).toEqual([]);
  });

  test("deleting all entries leaves none, and frees all room", async () => {
    await using host = await startMemory({ [tier]: { max_entries: 3, on_full: "refuse" } });
    const ada = host.open("ada");
    await ada.store({ entries: [{ key: "old", content: "gone", tier, ttl: 1 }] });
    host.clock.advance(2000);
    await ada.store(entries(tier, "a", "b"));
    const [before] = (await ada.retrieve({ tier, keys: ["a"] })).entries;

    expect(await ada.forget({ tier })).toEqual({ deleted: 2 });

    expect(await ada.retrieve({ tier, query: "content" })).toMatchObject({ entries: [], total: 0 });
    const { stored } = await ada.store(entries(tier, "a", "b", "c"));
    expect(stored).toHaveLength(3);
    expect(stored[0]?.version).toBeGreaterThan(before?.version ?? 0);
    expect(await ada.keys({ tier, query: "content" })).toHaveLength(3);
  });
});
