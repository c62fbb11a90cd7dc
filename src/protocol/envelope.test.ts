import { describe, expect, test } from "vitest";
import { createIdSource, isCompatibleVersion, systemClock } from "./envelope.ts";

describe("ids", () => {
  test("are 32 hexadecimal digits and never repeat", () => {
    const nextId = createIdSource();
    const count = 200_000;
    const seen = new Set<string>();
    for (let index = 0; index < count; index++) {
      const id = nextId();
      if (!/^[0-9a-f]{32}$/.test(id)) throw new Error(`not an id: ${id}`);
      seen.add(id);
    }
    expect(seen.size).toBe(count);
  });

  test("count up in hexadecimal", () => {
    const nextId = createIdSource();
    const ids = Array.from({ length: 0x10002 }, nextId);
    const [first = ""] = ids;
    const prefix = first.slice(0, 20);
    expect(first).toBe(`${prefix}000000000000`);
    expect(ids.slice(-3)).toEqual([`${prefix}00000000ffff`, `${prefix}000000010000`, `${prefix}000000010001`]);
  });

  test("of two sources differ from the start: their prefixes are random", () => {
    const prefixes = new Set(Array.from({ length: 1000 }, () => createIdSource()().slice(0, 20)));
    expect(prefixes.size).toBe(1000);
  });
});

describe("isCompatibleVersion", () => {
  test.each([undefined, null, "", "1", "1.0", "1.7", "1.0.3", "1.x", 1, 1.5])("%j may talk to us", (version) => {
    expect(isCompatibleVersion(version)).toBe(true);
  });

  test.each([
    "2.0",
    "0.9",
    "10.0",
    "v1.0",
    "01",
    "-1",
    "one",
    ".1",
    2,
    0,
    -1,
    Number.NaN,
    true,
    false,
    [],
    ["1.0"],
    {},
  ])("%j may not", (version) => {
    expect(isCompatibleVersion(version)).toBe(false);
  });

  test("an object that cannot become text is refused, not tripped over", () => {
    const hostile = JSON.parse('{"toString":1,"valueOf":1}');
    expect(isCompatibleVersion(hostile)).toBe(false);
    expect(isCompatibleVersion([hostile])).toBe(false);
  });
});

test("the system clock returns milliseconds since 1970", () => {
  const before = Date.now();
  const now = systemClock.now();
  expect(now).toBeGreaterThanOrEqual(before);
  expect(now).toBeLessThanOrEqual(Date.now());
});
