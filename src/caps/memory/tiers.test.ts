// Rules that hold in every tier, in the state of a session and in the database.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { copyJson, type JsonValue } from "../../protocol/json.ts";
import { type MemoryHost, type MemorySession, startMemory } from "./memory-host.suite.ts";

let host: MemoryHost;
let ada: MemorySession;

beforeEach(async () => {
  host = await startMemory();
  ada = host.open("ada");
});

afterEach(() => host.close());

describe.each(["working", "episodic", "semantic"] as const)("the %s tier", (tier) => {
  const put = (key: string, content: string, rest = {}) => ada.store({ entries: [{ key, content, tier, ...rest }] });

  test("returns stored entries with their times, version and key as an object", async () => {
    const now = host.clock.now() / 1000;
    const key = { day: 3, who: "ada" };
    const entry = {
      key,
      content: { text: ["a", null, 1.5] },
      tier,
      tags: ["x", "y"],
      source: "diary",
      score: 0.5,
      ttl: 9,
    };

    const { stored, errors } = await ada.store({ entries: [entry] });

    const times = { created_at: now, updated_at: now, event_at: now };
    const expected = { ...entry, key_text: '{"day":3,"who":"ada"}', ...times, version: expect.any(Number) };
    expect(stored).toEqual([expected]);
    expect(errors).toEqual([]);
    expect(await ada.retrieve({ keys: [{ who: "ada", day: 3 }] })).toEqual({ entries: [expected], total: 1 });
  });

  test("stores a key again as a new version with the same creation time", async () => {
    const [first] = (await put("a", "one")).stored;
    host.clock.advance(5000);
    const [second] = (await put("a", "two", { tags: ["new"] })).stored;

    expect(second?.created_at).toBe(first?.created_at);
    expect(second?.updated_at).toBe((first?.updated_at ?? 0) + 5);
    expect(second?.version).toBeGreaterThan(first?.version ?? 0);
    expect(await ada.retrieve({ tier })).toMatchObject({ entries: [{ content: "two", tags: ["new"] }], total: 1 });
    expect(await ada.keys({ tier, query: "one" })).toEqual([]);
  });

  test("loses no update of two writers that use if_version", async () => {
    const [read] = (await put("counter", "0")).stored;
    const bob = ada;
    await put("counter", "1", { if_version: read?.version });

    const late = bob.store({ entries: [{ key: "counter", content: "1", tier, if_version: read?.version ?? 0 }] });

    await expect(late).rejects.toMatchObject({ code: "version_conflict", retryable: false });
    const [now] = (await ada.retrieve({ tier, keys: ["counter"] })).entries;
    await expect(late).rejects.toMatchObject({ detail: { errors: [{ index: 0, version: now?.version }] } });
  });

  test("treats if_version 0 as: store only if the entry does not exist", async () => {
    await put("a", "one", { if_version: 0 });

    await expect(put("a", "two", { if_version: 0 })).rejects.toMatchObject({ code: "version_conflict" });
    await expect(put("b", "two", { if_version: 7 })).rejects.toMatchObject({ code: "version_conflict" });
    expect(await ada.retrieve({ tier })).toMatchObject({ entries: [{ content: "one" }] });
  });

  test("gives an entry that was deleted and stored again a new version", async () => {
    const [before] = (await put("a", "one")).stored;
    await ada.forget({ tier, keys: ["a"] });
    await put("a", "another");

    await expect(put("a", "mine", { if_version: before?.version })).rejects.toMatchObject({ code: "version_conflict" });
  });

  test("stores the valid entries of a batch and reports a problem for each of the others", async () => {
    await put("taken", "x");

    const { stored, errors, error_details } = await ada.store({
      entries: [
        { key: "good", content: 1, tier },
        { key: "", content: 2, tier },
        { key: "taken", content: 3, tier, if_version: 0 },
        { key: "x".repeat(2000), content: 4, tier },
        { key: "tags", content: 5, tier, tags: Array.from({ length: 65 }, String) },
        { key: "ttl", content: 6, tier, ttl: -1 },
        { key: "also good", content: 7, tier },
      ],
    });

    expect(stored.map(({ key_text }) => key_text)).toEqual(["good", "also good"]);
    expect(error_details.map(({ index, code }) => [index, code])).toEqual([
      [1, "schema_violation"],
      [2, "version_conflict"],
      [3, "schema_violation"],
      [4, "schema_violation"],
      [5, "schema_violation"],
    ]);
    expect(errors).toHaveLength(5);
    expect(errors[1]).toMatch(/^entries\[2\] \(taken\): version_conflict: /);
    expect((await ada.retrieve({ tier, keys: ["taken"] })).entries[0]?.content).toBe("x");
  });

  test("finds by each condition, and only entries that meet all of them", async () => {
    await put("a", "red apple", { tags: ["fruit", "red"], event_at: 100 });
    await put("b", "red brick", { tags: ["stone", "red"], event_at: 200 });
    await put("c", "green apple", { tags: ["fruit"], event_at: 300 });

    expect(await ada.keys({ tier })).toEqual(["c", "b", "a"]);
    expect(await ada.keys({ tier, keys: ["a", "c", "nothing"] })).toEqual(["c", "a"]);
    expect(await ada.keys({ tier, tags: ["fruit", "red"] })).toEqual(["a"]);
    expect(await ada.keys({ tier, tags: ["stone", "red"], tags_match: "any" })).toEqual(["b", "a"]);
    expect(await ada.keys({ tier, since: 200 })).toEqual(["c", "b"]);
    expect(await ada.keys({ tier, since: 100, until: 200 })).toEqual(["a"]);
    expect(await ada.keys({ tier, query: "apple", tags: ["fruit"], since: 200 })).toEqual(["c"]);
    expect(await ada.keys({ tier, query: "apple", tags: ["stone"] })).toEqual([]);
    expect(await ada.keys({ tier, query: "apple", keys: ["b"] })).toEqual([]);
  });

  test("counts all matches before the limit", async () => {
    await ada.store({
      entries: Array.from({ length: 25 }, (_, index) => ({ key: `k${index}`, content: `note ${index}`, tier })),
    });

    for (const query of ["", "note"]) {
      expect(await ada.retrieve({ tier, query })).toMatchObject({ entries: { length: 10 }, total: 25 });
      expect(await ada.retrieve({ tier, query, limit: 0 })).toEqual({ entries: [], total: 25 });
      expect(await ada.retrieve({ tier, query, limit: 1000 })).toMatchObject({ entries: { length: 25 }, total: 25 });
    }
    expect(await ada.retrieve({ tier, query: "note 7", min_score: 0.9 })).toMatchObject({ total: 1 });
  });

  test("returns the last changed entry first if all have the same event_at, with any limit", async () => {
    for (const key of ["a", "b", "c", "a"]) await put(key, "word", { event_at: 5 });

    for (const limit of [1, 2, 3, 100]) {
      expect(await ada.keys({ tier, limit })).toEqual(["a", "c", "b"].slice(0, limit));
    }
  });

  test("ranks the best match of a query first, with scores from 0 to 1 that min_score filters", async () => {
    await put("a", "The solar system has eight planets.");
    await put("b", "A solar panel turns light into current.");
    await put("c", "Bread needs flour, water and salt.");

    const { entries, total } = await ada.retrieve({ tier, query: "solar system" });

    expect(entries.map(({ key_text }) => key_text)).toEqual(["a", "b"]);
    expect(total).toBe(2);
    expect(entries[0]?.score).toBe(1);
    expect(entries[1]?.score).toBeGreaterThan(0);
    expect(entries[1]?.score).toBeLessThan(1);
    expect(await ada.retrieve({ tier, query: "solar system", min_score: 1 })).toMatchObject({
      entries: [{ key_text: "a" }],
      total: 1,
    });
    expect(await ada.retrieve({ tier, query: "solar eclipse", min_score: 0.6 })).toEqual({ entries: [], total: 0 });
  });

  test("returns the newest of equally good matches, with any limit", async () => {
    await put("best", "word word", { event_at: 0 });
    for (const event_at of [1, 2, 3, 4, 5]) await put(`at ${event_at}`, "a word", { event_at, tags: ["some"] });

    for (const limit of [1, 2, 4, 100]) {
      const alike = ["at 5", "at 4", "at 3", "at 2", "at 1"];
      expect(await ada.keys({ tier, query: "word", limit })).toEqual(["best", ...alike].slice(0, limit));
      expect(await ada.retrieve({ tier, query: "word", limit, tags: ["some"] })).toMatchObject({
        entries: alike.slice(0, limit).map((key_text) => ({ key_text })),
        total: 5,
      });
    }
  });

  test("gives the only entry of a memory a full score if it has all words", async () => {
    await put("a", "one note");

    expect(await ada.retrieve({ tier, query: "note", min_score: 0.9 })).toMatchObject({
      total: 1,
      entries: [{ score: 1 }],
    });
  });

  test("returns the stored score without a query", async () => {
    await put("a", "x", { score: 0.2, event_at: 1 });
    await put("b", "x", { score: 0.8, event_at: 2 });

    expect(await ada.retrieve({ tier, min_score: 0.5 })).toMatchObject({
      entries: [{ key_text: "b", score: 0.8 }],
      total: 1,
    });
  });

  test("compares negative scores with min_score, and filters none by default", async () => {
    await put("a", "word", { score: -1 });
    await put("b", "word", { score: -0.2 });

    expect(await ada.retrieve({ tier, min_score: -0.5, limit: 1 })).toMatchObject({
      entries: [{ key_text: "b" }],
      total: 1,
    });
    expect((await ada.retrieve({ tier })).total).toBe(2);
  });

  test("never returns expired entries, and treats their keys as new", async () => {
    await put("short", "gone soon", { ttl: 10 });
    await put("rounded", "gone soon", { ttl: 10.5 });
    await put("long", "stays soon", { ttl: null });
    host.clock.advance(10_000);

    expect(await ada.keys({ tier, query: "soon" })).toEqual(["long", "rounded"]);
    expect((await ada.keys({ tier })).sort()).toEqual(["long", "rounded"]);
    expect(await ada.retrieve({ tier, keys: ["short"] })).toEqual({ entries: [], total: 0 });
    expect(await ada.forget({ tier, keys: ["short"] })).toEqual({ deleted: 0 });
    const [again] = (await put("short", "new", { if_version: 0 })).stored;
    expect(again?.created_at).toBe(host.clock.now() / 1000);
  });

  test("rejects a ttl that is negative by less than a second", async () => {
    await expect(put("late", "gone", { ttl: -0.3 })).rejects.toMatchObject({ code: "schema_violation" });

    expect(await ada.keys({ tier })).toEqual([]);
  });

  test("deletes by key, by tag and by time, and all entries if only the tier is given", async () => {
    for (const [index, key] of ["a", "b", "c", "d", "e"].entries())
      await put(key, key, { tags: [key < "c" ? "early" : "late"], event_at: index });

    expect(await ada.forget({ tier, keys: [{ key: "a" }, "nothing"] })).toEqual({ deleted: 1 });
    expect(await ada.forget({ tier, tags: ["early"], keys: ["c"] })).toEqual({ deleted: 0 });
    expect(await ada.forget({ tier, tags: ["early"] })).toEqual({ deleted: 1 });
    expect(await ada.forget({ tier, until: 3 })).toEqual({ deleted: 1 });
    expect(await ada.keys({ tier, query: "a b c d e" })).toEqual(["e", "d"]);
    expect(await ada.forget({ tier })).toEqual({ deleted: 2 });
    expect(await ada.retrieve({ tier })).toEqual({ entries: [], total: 0 });
  });

  test("finds words after a NUL character", async () => {
    await put("a\0key", "before\0after");

    for (const query of ["key", "before", "after"]) expect(await ada.keys({ tier, query })).toEqual(["a\0key"]);
  });

  test("accepts any text as a query", async () => {
    await put("a", 'near and or not column* caret^ "quote" (paren) text:colon');
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), fc.string(), ftsSyntax), async (query) => {
        const { entries, total } = await ada.retrieve({ tier, query });
        expect(entries.length).toBe(total);
      }),
    );
  });

  test("stores any content, tag and source unchanged", async () => {
    const anyText = fc.string({ unit: "binary", maxLength: 50 });
    await fc.assert(
      fc.asyncProperty(anyText, fc.jsonValue(), anyText, anyText, async (key, value, tag, source) => {
        fc.pre(key !== "");
        const content = copyJson(value) as JsonValue;
        await ada.store({ entries: [{ key, content, tier, tags: [tag], source }] });
        const { entries } = await ada.retrieve({ tier, keys: [key], tags: [tag] });
        expect(entries).toMatchObject([{ key: { key }, content, tags: [tag], source }]);
      }),
      { numRuns: 50 },
    );
  });
});

const ftsSyntax = fc
  .array(
    fc.constantFrom(
      '"',
      "*",
      "^",
      "(",
      ")",
      "NEAR",
      "AND",
      "OR",
      "NOT",
      ":",
      "-",
      "+",
      "{",
      "}",
      "text",
      "%",
      "_",
      "'",
      ";",
      "\0",
    ),
  )
  .map((parts) => parts.join(" "));

test("a search in all tiers merges their entries by score, or by time without a query", async () => {
  await ada.store({
    entries: [
      { key: "w", content: "blue sky", tier: "working", event_at: 3 },
      { key: "e", content: "blue", tier: "episodic", event_at: 1 },
      { key: "s", content: "blue sky tonight", tier: "semantic", event_at: 2 },
      { key: "w", content: "the same key in another tier", tier: "semantic", event_at: 4 },
    ],
  });

  expect(await ada.keys()).toEqual(["w", "w", "s", "e"]);
  const { entries, total } = await ada.retrieve({ query: "blue sky" });
  expect(entries.map(({ tier, score }) => [tier, score])).toEqual([
    ["working", 1],
    ["semantic", 1],
    ["episodic", 0.5],
  ]);
  expect(total).toBe(3);
  expect(await ada.forget({ tier: "" })).toEqual({ deleted: 4 });
});

test("the time of an event may be given in each of its spellings", async () => {
  const entry = { content: 1, tier: "episodic" as const };
  const { stored } = await ada.store({
    entries: [
      { ...entry, key: "a", event_at: 1, created_at: 2 },
      { ...entry, key: "b", created_at: 2, updated_at: 3 },
      { ...entry, key: "c", timestamps: { created_at: 4 } },
      { ...entry, key: "d", timestamps: { event_at: 5, created_at: "yesterday" } },
    ],
  });

  expect(stored.map(({ event_at }) => event_at)).toEqual([1, 2, 4, 5]);
  expect(new Set(stored.map(({ created_at }) => created_at))).toEqual(new Set([host.clock.now() / 1000]));
});

test("expired entries are deleted from the database", async () => {
  await ada.store({ entries: [{ key: "a", content: "gone", tier: "semantic", ttl: 1, tags: ["t"] }] });
  host.clock.advance(2000);

  await ada.store({ entries: [{ key: "b", content: "here", tier: "semantic" }] });

  for (const [table, left] of [
    ["memory_entry", 1],
    ["memory_tag", 0],
    ["memory_text_1", 1],
  ] as const)
    expect(host.database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count, table).toBe(left);
});
