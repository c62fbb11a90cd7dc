import { expect, test } from "vitest";
import type { CallContext } from "../../../plugin/call-context.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { Embedder } from "../embedder.ts";
import { memoryLimits } from "../limits.ts";
import { startMemory } from "../memory-host.suite.ts";
import { mergeOverlay } from "../persistent/merge-overlay.ts";
import { memory } from "../protocol.ts";
import { createLocalEmbedder } from "./local-embedder.ts";
import { loadModel } from "./local-embedder-worker.ts";

/** Gives words with similar meanings similar vectors, as a real embedder would. */
const meanings = [
  ["car", "automobile", "vehicle"],
  ["dog", "puppy", "hound"],
  ["bread", "loaf", "bakery"],
];

function createFakeEmbedder(name = "fake"): Embedder & { closed: boolean; texts: string[] } {
  const texts: string[] = [];
  return {
    name,
    texts,
    closed: false,
    async embed(asked) {
      texts.push(...asked);
      return asked.map((text) =>
        Float32Array.from(meanings, (words) => words.filter((word) => text.includes(word)).length),
      );
    },
    close() {
      this.closed = true;
    },
  };
}

const semantic = (key: string, content: string, tags: string[] = []) => ({
  key,
  content,
  tags,
  tier: "semantic" as const,
});

test("an entry is found by its meaning, and scores higher if it also has the words", async () => {
  await using host = await startMemory({ embedder: createFakeEmbedder() });
  const ada = host.open("ada");
  await ada.store({
    entries: [semantic("a", "my automobile is red"), semantic("b", "a car"), semantic("c", "the puppy sleeps")],
  });

  const { entries, total } = await ada.retrieve({ query: "car" });

  expect(entries.map(({ key_text }) => key_text)).toEqual(["b", "a"]);
  expect(total).toBe(2);
  expect(entries[0]?.score).toBeCloseTo(1);
  expect(entries[1]?.score).toBeCloseTo(0.7);
  expect(await ada.retrieve({ query: "car", min_score: 0.8 })).toMatchObject({ total: 1 });
});

test("the weight of vectors decides between meaning and words", async () => {
  for (const [vector_weight, best] of [
    [0.9, "a"],
    [0.1, "b"],
  ] as const) {
    await using host = await startMemory({ embedder: createFakeEmbedder(), vector_weight });
    const ada = host.open("ada");
    await ada.store({ entries: [semantic("a", "an automobile"), semantic("b", "fast food")] });

    expect((await ada.keys({ query: "fast vehicle" }))[0]).toBe(best);
  }
});

test("all other conditions apply to entries that are found by vectors", async () => {
  await using host = await startMemory({ embedder: createFakeEmbedder() });
  const ada = host.open("ada");
  await ada.store({
    entries: [semantic("a", "hound", ["x"]), semantic("b", "hound", ["y"]), { ...semantic("c", "hound"), ttl: 1 }],
  });
  await ada.forget({ tier: "semantic", keys: ["b"] });
  host.clock.advance(1000);

  expect(await ada.keys({ query: "dog" })).toEqual(["a"]);
  expect(await ada.keys({ query: "dog", tags: ["y"] })).toEqual([]);
  expect(host.database.prepare("SELECT count(*) AS count FROM memory_vector").get()?.count).toBe(2);
});

test("only entries of the semantic tier are embedded", async () => {
  const embedder = createFakeEmbedder();
  await using host = await startMemory({ embedder });
  const ada = host.open("ada");

  await ada.store({
    entries: [
      { key: "a", content: "dog", tier: "episodic" },
      { key: "b", content: "cat", tier: "working" },
    ],
  });
  await ada.retrieve({ tier: "episodic", query: "hound" });

  expect(embedder.texts).toEqual([]);
});

test("forks find their own entries and those of their parents, and a merge keeps the vectors", async () => {
  await using host = await startMemory({ embedder: createFakeEmbedder() });
  const ada = host.open("ada");
  await ada.store({ entries: [semantic("a", "loaf")] });
  const fork = ada.fork();
  await fork.store({ entries: [semantic("b", "loaf and bakery")] });

  expect((await fork.keys({ query: "bread" })).sort()).toEqual(["a", "b"]);
  expect(await ada.keys({ query: "bread" })).toEqual(["a"]);
  mergeOverlay(host.database, fork.overlay, { now: host.clock.now() / 1000 });
  expect((await ada.keys({ query: "bread" })).sort()).toEqual(["a", "b"]);
});

test("vectors of another model are not compared", async () => {
  await using host = await startMemory({ embedder: createFakeEmbedder("old") });
  await host.open("ada").store({ entries: [semantic("a", "a hound barks")] });
  await using other = await startMemory({ embedder: createFakeEmbedder("new") }, host.database);
  const ada = other.open("ada");

  expect(await ada.keys({ query: "dog" })).toEqual([]);
  expect(await ada.keys({ query: "barks" })).toEqual(["a"]);
});

test("many texts are embedded a few at a time, and long texts are cut", async () => {
  const sizes: number[] = [];
  const lengths: number[] = [];
  const embedder: Embedder = {
    name: "counting",
    async embed(texts) {
      sizes.push(texts.length);
      lengths.push(...texts.map(({ length }) => length));
      return texts.map(() => Float32Array.of(1));
    },
  };
  await using host = await startMemory({ embedder });
  const entries = Array.from({ length: 70 }, (_, at) => semantic(`key ${at}`, at === 0 ? "x".repeat(20_000) : "y"));

  expect((await host.open("ada").store({ entries })).stored).toHaveLength(70);

  expect(sizes).toEqual([32, 32, 6]);
  expect(Math.max(...lengths)).toBe(8000);
});

test("a store that is cancelled while its texts are embedded stores nothing", async () => {
  const cancel = new AbortController();
  const embedder: Embedder = {
    name: "slow",
    async embed(texts) {
      cancel.abort(new A2EError("cancelled", "not needed"));
      return texts.map(() => Float32Array.of(1));
    },
  };
  await using host = await startMemory({ embedder });
  const ada = host.open("ada");
  const call = {
    clock: host.clock,
    signal: cancel.signal,
    get isEnded() {
      return cancel.signal.aborted;
    },
  } as unknown as CallContext;
  const request = memory.calls.store.request.parse({ entries: [semantic("a", "x")] });

  await expect(ada.part.handlers.store(request, call)).rejects.toMatchObject({ code: "cancelled" });

  expect(await ada.keys({ tier: "semantic" })).toEqual([]);
});

test("an embedder that fails or returns too few vectors is named in a retryable error", async () => {
  const away = () => Promise.reject(new Error("no connection"));
  const answers = [async () => [], away];
  await using host = await startMemory({ embedder: { name: "far", embed: async () => answers.shift()?.() ?? [] } });
  const ada = host.open("ada");
  const failure = (why: string) => ({
    code: "runtime_error",
    retryable: true,
    message: `embedder "far" failed: ${why}`,
  });

  await expect(ada.store({ entries: [semantic("a", "x")] })).rejects.toMatchObject(
    failure("it returned 0 vectors for 1 texts"),
  );
  await expect(ada.retrieve({ query: "x" })).rejects.toMatchObject(failure("no connection"));
});

test("vectors are compared in several turns, and all of them in the end", async () => {
  const embedder: Embedder = {
    name: "same",
    embed: async (texts) => texts.map((text) => Float32Array.of(text.includes("needle") ? 1 : 0, 1)),
  };
  await using host = await startMemory({ embedder });
  const ada = host.open("ada");
  const count = memoryLimits.maxVectorsPerTurn + 10;
  await ada.store({
    entries: Array.from({ length: count }, (_, at) => semantic(`key ${at}`, at < count - 1 ? "hay" : "needle")),
  });
  let turns = 0;
  const timer = setImmediate(() => {
    turns += 1;
  });

  const { entries, total } = await ada.retrieve({ tier: "semantic", query: "needle", limit: 1 });
  clearImmediate(timer);

  expect(entries[0]?.content).toBe("needle");
  expect(total).toBe(count);
  expect(turns).toBe(1);
});

test("a search with vectors leaves out entries that were deleted or added while it ran", async () => {
  const embedder: Embedder = {
    name: "apart",
    embed: async (texts) => texts.map((text) => Float32Array.of(text.includes("hay") ? 0 : 1, 1)),
  };
  await using host = await startMemory({ embedder, min_similarity: 0.9 });
  const ada = host.open("ada");
  const hay = Array.from({ length: memoryLimits.maxVectorsPerTurn }, (_, at) => semantic(`hay ${at}`, "hay"));
  await ada.store({ entries: [...hay, semantic("first", "needle"), semantic("last", "needle")] });
  const searching = ada.retrieve({ tier: "semantic", query: "needle" });
  // The query was embedded, and the first block of vectors was compared.
  for (let step = 0; step < 20; step++) await undefined;

  await ada.forget({ tier: "semantic", keys: ["last"] });
  await host.open("bob").store({ entries: [{ key: "diary", content: "a secret", tier: "episodic" }] });

  const { entries, total } = await searching;
  expect(entries.map(({ key_text }) => key_text)).toEqual(["first"]);
  expect(total).toBe(1);
});

test("entries that have the words but no similar vector are counted and found, however many there are", async () => {
  const embedder: Embedder = {
    name: "apart",
    embed: async (texts) => texts.map((text) => (text === "note" ? Float32Array.of(1, 0) : Float32Array.of(0, 1))),
  };
  await using host = await startMemory({ embedder });
  const ada = host.open("ada");
  const count = 1200;
  await ada.store({
    entries: Array.from({ length: count }, (_, at) => semantic(`${at}`, `a note ${"x ".repeat(at % 7)}`)),
  });
  const query = { tier: "semantic" as const, query: "note" };

  const { entries, total } = await ada.retrieve({ ...query, limit: 1000 });

  expect([entries.length, total]).toEqual([1000, count]);
  expect((await ada.retrieve({ ...query, limit: 1, min_score: entries[999]?.score ?? 0 })).total).toBeGreaterThan(999);
});

test("an embedder is closed with the plugin", async () => {
  const embedder = createFakeEmbedder();
  const host = await startMemory({ embedder });

  await host.close();

  expect(embedder.closed).toBe(true);
});

test("without its packages the local embedder fails with the command that installs them", async () => {
  await expect(loadModel(["@energetic-ai/not-there", "@energetic-ai/not-there-either"])).rejects.toThrow(
    "npm install @energetic-ai/not-there @energetic-ai/not-there-either",
  );
});

test("the local embedder finds an entry with the same meaning and no common word", async () => {
  await using host = await startMemory({ embedder: "local" });
  const ada = host.open("ada");
  await ada.store({
    entries: [
      semantic("pet", "The puppy chased its tail in the garden"),
      semantic("money", "Interest rates were raised by the central bank"),
      semantic("food", "Knead the dough and bake it until golden"),
    ],
  });

  expect((await ada.keys({ query: "a young dog playing outside" }))[0]).toBe("pet");
  expect((await ada.keys({ query: "monetary policy" }))[0]).toBe("money");
  expect((await ada.keys({ query: "how to make bread" }))[0]).toBe("food");
});

test("the local embedder runs in a worker thread", async () => {
  const code = `import { isMainThread } from "node:worker_threads";
    export function embedTexts(texts) { return texts.map((text) => Float32Array.of(text.length, isMainThread ? 1 : 0)); }`;
  const module = `data:text/javascript,${encodeURIComponent(code)}`;
  const embedder = await createLocalEmbedder({ worker: { module, name: "lengths" } });

  try {
    expect(await embedder.embed(["a", "bcd"])).toEqual([Float32Array.of(1, 0), Float32Array.of(3, 0)]);
  } finally {
    await embedder.close?.();
  }
});
