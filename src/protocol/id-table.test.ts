import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createIdSource } from "./envelope.ts";
import { type IdEntry, IdTable } from "./id-table.ts";

// "Aa" and "BB" have the same hash, and so has every sequence of them: the worst that a peer can send.
const colliding = fc.array(fc.constantFrom("Aa", "BB"), { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
const id = fc.oneof(colliding, fc.string(), fc.nat({ max: 40 }).map(String));
const step = fc.oneof(
  fc.record({ act: fc.constant("set"), id, value: fc.nat() }),
  fc.record({ act: fc.constant("remove"), id, value: fc.constant(0) }),
);

describe("an IdTable", () => {
  test("behaves like a Map for any sequence of operations", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
        const table = new IdTable<number>();
        const entries = new Map<string, IdEntry<number>>();
        for (const { act, id: key, value } of steps) {
          const known = entries.get(key);
          if (act === "set") {
            const entry = table.set(key, value);
            if (known !== undefined) expect(entry).toBe(known);
            entries.set(key, entry);
          } else if (known !== undefined) {
            table.remove(known);
            entries.delete(key);
            // Twice is once.
            table.remove(known);
          }
          expect(table.get(key)).toBe(entries.get(key)?.value);
          expect(table.size).toBe(entries.size);
        }
        const byNumber = (a: number, b: number) => a - b;
        expect(table.values().sort(byNumber)).toEqual([...entries.values()].map((entry) => entry.value).sort(byNumber));
        for (const [key, entry] of entries) expect(table.get(key)).toBe(entry.value);
      }),
    );
  });

  test("an entry that was removed does not take its successor of the same id along", () => {
    const table = new IdTable<number>();
    const first = table.set("a", 1);
    table.remove(first);
    table.set("a", 2);
    table.remove(first);
    expect(table.get("a")).toBe(2);
    expect(table.size).toBe(1);
  });

  test("values is a copy: the table may change while it is walked", () => {
    const table = new IdTable<IdEntry<unknown>>();
    for (let index = 0; index < 100; index++) {
      const entry = table.set(String(index), undefined as never);
      entry.value = entry;
    }
    for (const entry of table.values()) table.remove(entry as IdEntry<IdEntry<unknown>>);
    expect(table.size).toBe(0);
    expect(table.values()).toEqual([]);
  });

  test("long ids that differ only at their start are distinguished", () => {
    const table = new IdTable<number>();
    const tail = "x".repeat(64);
    table.set(`a${tail}`, 1);
    table.set(`b${tail}`, 2);
    expect([table.get(`a${tail}`), table.get(`b${tail}`), table.get(tail)]).toEqual([1, 2, undefined]);
  });

  test("names that every object inherits are ids like any other", () => {
    const table = new IdTable<number>();
    for (const name of ["__proto__", "constructor", "toString", ""]) expect(table.get(name)).toBeUndefined();
    table.set("__proto__", 1);
    expect(table.get("__proto__")).toBe(1);
  });

  test("a hundred thousand ids come and go", () => {
    const table = new IdTable<number>();
    const nextId = createIdSource();
    const entries = Array.from({ length: 100_000 }, (_, index) => table.set(nextId(), index));
    expect(entries.every((entry, index) => table.get(entry.id) === index)).toBe(true);
    for (const entry of entries) table.remove(entry);
    expect(table.size).toBe(0);
  });
});
