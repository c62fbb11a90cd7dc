import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "../../protocol/json.ts";
import type { Entry } from "./entry.ts";
import { canonicalKey } from "./key.ts";
import { TextRanker, toMatchExpression, toSearchText, toWords } from "./text.ts";

function entryOf(key: string, content: JsonValue): Entry {
  const times = { createdAt: 0, updatedAt: 0, eventAt: 0 };
  return { key: canonicalKey(key), content, tags: [], source: "", score: 1, ttl: 0, version: 1, ...times };
}

test("a query is split into its distinct words, ignoring case and accents", () => {
  expect(toWords("Où est la CAFÉTÉRIA, la cafeteria?")).toEqual(["ou", "est", "la", "cafeteria"]);
  expect(toWords('"NEAR(" OR * : ^ -')).toEqual(["near", "or"]);
  expect(toWords("!?…")).toEqual([]);
  expect(toWords("한국 東京 हिन्दी")).toEqual(["한국", "東京", "हिन्दी"]);
});

test("a query cannot add operators to a match expression", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (query) => {
      for (const word of toWords(query)) expect(toMatchExpression([word])).toMatch(/^"[^"\s\0]+"$/);
    }),
  );
});

test("words are found in the key and in all strings and numbers of the content", () => {
  const text = toSearchText({ topic: "planets" }, { facts: ["two moons", 687], known: true, not: null });

  expect(toWords(text)).toEqual(["planets", "two", "moons", "687"]);
});

test("an entry with all words of a query scores 1, and an entry with fewer words scores less", () => {
  const ranker = new TextRanker();
  const both = entryOf("a", "solar system");
  const one = entryOf("b", "solar panel");
  const none = entryOf("c", "wind");

  const ranked = new Map(ranker.rank([one, none, both], ["solar", "system"]).map(({ item, score }) => [item, score]));

  expect(ranked.get(both)).toBe(1);
  expect(ranked.get(one)).toBeGreaterThan(0);
  expect(ranked.get(one)).toBeLessThan(1);
  expect(ranked.has(none)).toBe(false);
});

test("the best match scores a half if it has half of the words of the query", () => {
  const [match] = new TextRanker().rank([entryOf("a", "solar panel")], ["solar", "eclipse"]);

  expect(match?.score).toBe(0.5);
});

test("scores are numbers from 0 to 1 for any entries and any query", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.string(), (texts, query) => {
      const entries = texts.map((text, index) => entryOf(String(index + 1), text));
      for (const { score } of new TextRanker().rank(entries, toWords(query))) {
        expect(score).toBeGreaterThanOrEqual(0);
        expect(score).toBeLessThanOrEqual(1);
      }
    }),
  );
});
