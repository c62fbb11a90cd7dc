import { asObject, check, checkEqual } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { openMemory, tiers } from "./opened-memory.ts";

const needs = { capability: "memory" } as const;

export const memorySearch: readonly Requirement[] = [
  {
    id: "MEM-8",
    title: "all conditions of a retrieve must hold: keys, tags, words and tier",
    source: "wire facts M5 (fields are ANDed)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: "red apple", tags: ["fruit", "red"], tier },
          { key: "b", content: "red brick", tags: ["stone", "red"], tier },
          { key: "c", content: "green apple", tags: ["fruit"], tier },
        );
        const found = async (fields: object) => (await open.contents({ tier, ...fields })).sort();
        checkEqual(await found({ tags: ["red"] }), ["red apple", "red brick"], `one tag in ${tier}`);
        checkEqual(await found({ tags: ["fruit", "red"] }), ["red apple"], `two tags in ${tier}`);
        checkEqual(await found({ tags: ["fruit"], keys: ["b", "c"] }), ["green apple"], `tag and keys in ${tier}`);
        checkEqual(await found({ query: "apple", tags: ["red"] }), ["red apple"], `words and tag in ${tier}`);
        checkEqual(await found({ query: "apple", keys: ["b"] }), [], `words and key in ${tier}`);
      }
      checkEqual((await open.find({ keys: ["a"] })).total, 3, "total in all tiers");
    },
  },
  {
    id: "MEM-9",
    title: "with tags_match any, one of the tags is enough",
    source: "wire facts M5; extension: tags_match",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: 1, tags: ["x"], tier },
          { key: "b", content: 2, tags: ["y"], tier },
          { key: "c", content: 3, tags: ["z"], tier },
        );
        const found = await open.contents({ tier, tags: ["x", "y"], tags_match: "any" });
        checkEqual(found.sort(), [1, 2], `found in ${tier}`);
      }
    },
  },
  {
    id: "MEM-10",
    title: "total counts the matches before the limit",
    source: "wire facts M5 (docs: before)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        const entries = Array.from({ length: 15 }, (_, at) => ({ key: `k${at}`, content: "word", tier }));
        await open.store(...entries);
        for (const [fields, count] of [
          [{}, 10],
          [{ limit: 3 }, 3],
          [{ limit: 3, query: "word" }, 3],
          [{ limit: 100 }, 15],
          [{ limit: 0 }, 0],
        ] as const) {
          const found = await open.find({ tier, ...fields });
          checkEqual(
            [found.entries.length, found.total],
            [count, 15],
            `entries and total of ${JSON.stringify(fields)}`,
          );
        }
      }
    },
  },
  {
    id: "MEM-11",
    title: "a query finds entries with any of its words, best match first, and min_score leaves out the rest",
    source: "wire facts M5 (query, min_score)",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          { key: "a", content: "the river is long and runs past many towns on its way to the distant sea", tier },
          { key: "b", content: "river bank", tier },
          { key: "c", content: "a mountain", tier },
        );
        const { entries, total } = await open.find({ tier, query: "RIVER bank" });
        checkEqual(
          [entries.map(({ key }) => asObject(key, "key").key), total],
          [["b", "a"], 2],
          `found in ${tier}, best first`,
        );
        const [best, second] = entries.map(({ score }) => Number(score));
        check(best !== undefined && second !== undefined && best > second, `scores: ${best}, ${second}`);
        checkEqual((await open.find({ tier, query: "river bank", min_score: best })).total, 1, `min_score in ${tier}`);
      }
    },
  },
  {
    id: "MEM-12",
    title: "a query of punctuation or search syntax is words like any other, and never an error",
    source: "hostile input",
    level: "must",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      await open.store(...tiers.map((tier) => ({ key: "a", content: "plain words", tier })));
      for (const query of ['"', "*", "a AND", "NEAR(", "col:x", "'; DROP TABLE entries; --", "-words", "(", "^", "\0"])
        for (const tier of tiers) await open.find({ tier, query });
      checkEqual((await open.find()).total, 3, "total afterwards");
    },
  },
  {
    id: "MEM-21",
    title: "entries are found by when they happened, newest first",
    source: "extension: event_at, since, until",
    level: "extension",
    needs,
    async run({ agent }) {
      const open = await openMemory(await agent());
      for (const tier of tiers) {
        await open.store(
          ...[200, 100, 300].map((event_at) => ({ key: `at ${event_at}`, content: event_at, event_at, tier })),
        );
        checkEqual(await open.contents({ tier }), [300, 200, 100], `order in ${tier}`);
        checkEqual(await open.contents({ tier, since: 200 }), [300, 200], "since");
        checkEqual(await open.contents({ tier, since: 100, until: 300 }), [200, 100], "since and until");
      }
    },
  },
];
