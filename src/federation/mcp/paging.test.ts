import { expect, test } from "vitest";
import { pageAfter } from "./paging.ts";

const keyOf = (item: string) => item;
const items = ["a", "b", "c", "ü/d", "e"];

test("consecutive pages contain every entry once, for any page size", () => {
  for (const size of [1, 2, 3, 5, 6]) {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = pageAfter(items, keyOf, cursor, size);
      seen.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(items);
  }
});

test("entries added between two pages neither repeat nor hide others", () => {
  const { nextCursor } = pageAfter(items, keyOf, undefined, 2);
  expect(pageAfter(["0", ...items], keyOf, nextCursor, 2).items).toEqual(["c", "ü/d"]);
});

test("an unknown cursor, or a cursor whose entry is gone, is rejected", () => {
  const { nextCursor } = pageAfter(items, keyOf, undefined, 2);
  expect(() => pageAfter(["a", "c"], keyOf, nextCursor, 2)).toThrow("cursor");
  for (const cursor of ["", "!!", "AAAA"]) expect(() => pageAfter(items, keyOf, cursor, 2)).toThrow("cursor");
});
