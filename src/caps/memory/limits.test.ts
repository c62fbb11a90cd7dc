import { describe, expect, test } from "vitest";
import { startMemory } from "./memory-host.suite.ts";

const tiers = ["working", "episodic", "semantic"] as const;
const entries = (tier: (typeof tiers)[number], ...keys: string[]) => ({
  entries: keys.map((key, index) => ({ key, content: `content of ${key}`, tier, event_at: index })),
});

describe.each(tiers)("a full %s tier", (tier) => {
  test("refuses new entries with memory_full, and still takes changes of old ones", async () => {
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

  test("evicts where it is told to", async () => {
    await using host = await startMemory({ [tier]: { max_entries: 2, on_full: "evict" } });
    const ada = host.open("ada");

    const { stored } = await ada.store(entries(tier, "a", "b", "c"));

    expect(stored).toHaveLength(3);
    expect(await ada.keys({ tier })).toEqual(["c", "b"]);
    expect(await ada.keys({ tier, query: "content" })).toHaveLength(2);
  });

  test("counts bytes as well, and evicts for them only where that can help", async () => {
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
    // Grows within its own place: the other one has to go.
    await store("c", 1900);
    expect(await ada.keys({ tier })).toEqual(["c"]);
  });
});

test("the working tier evicts what was used least recently, also after it was put back from its state", async () => {
  await using host = await startMemory({ working: { max_entries: 3 } });
  const ada = host.open("ada");
  await ada.store(entries("working", "a", "b", "c"));
  await ada.retrieve({ tier: "working", keys: ["a"] });

  const again = host.open("ada", ada.state);
  await again.store(entries("working", "d"));

  expect((await again.keys({ tier: "working" })).sort()).toEqual(["a", "c", "d"]);
});

test("a session whose state was put back goes on from it", async () => {
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

test("content larger than an entry may be is refused", async () => {
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

test("an answer carries no more entries than the host allows, and still counts them all", async () => {
  await using host = await startMemory({ max_results: 2 });
  const ada = host.open("ada");
  await ada.store(entries("episodic", "a", "b", "c"));

  expect(await ada.retrieve({ limit: 100 })).toMatchObject({ entries: { length: 2 }, total: 3 });
});

test("neither a session nor an agent begins memories without end", async () => {
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

test("a scope with too many fields is refused", async () => {
  await using host = await startMemory();
  const scope = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`f${index}`, "x"]));

  await expect(host.open("ada").init({ scope })).rejects.toMatchObject({ code: "schema_violation" });
});
