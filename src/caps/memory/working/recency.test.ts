import fc from "fast-check";
import { expect, test } from "vitest";
import { Recency } from "./recency.ts";

const key = fc.nat({ max: 150 }).map(String);
const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("set" as const), key, bytes: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("delete" as const), key }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("fork" as const), key }) },
);

/** The model: a map in which a written key moves to the end, slower but with the same order. */
function apply(model: Map<string, number>, real: Recency, { kind, key, ...rest }: { kind: string; key: string }): void {
  if (kind === "fork") return;
  model.delete(key);
  if (kind === "delete") return real.delete(key);
  const bytes = (rest as { bytes: number }).bytes;
  model.set(key, bytes);
  real.set(key, bytes);
}

function assertSame(model: ReadonlyMap<string, number>, real: Recency): void {
  expect([...real.keys()].map((key) => [key, real.get(key)])).toEqual([...model]);
  expect(real.size).toBe(model.size);
}

test("keys are in the order of use after any operations, and forks do not see each other's changes", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 400 }), (operations) => {
      const both: [Map<string, number>, Recency][] = [[new Map([["0", 1]]), new Recency(new Map([["0", 1]]))]];
      for (const [at, one] of operations.entries()) {
        const [model, real] = both[at % both.length] as [Map<string, number>, Recency];
        if (one.kind === "fork" && both.length < 3) both.push([new Map(model), real.fork()]);
        else apply(model, real, one);
      }
      for (const [model, real] of both) assertSame(model, real);
    }),
  );
});

test("a key may be deleted while the keys are being visited", () => {
  const recency = new Recency(new Map(Array.from({ length: 300 }, (_, at) => [String(at), at])));
  for (let at = 300; at < 330; at++) recency.set(String(at), at);

  for (const key of recency.keys()) if (Number(key) % 2 === 0) recency.delete(key);

  expect([...recency.keys()].map(Number)).toEqual(Array.from({ length: 165 }, (_, at) => 2 * at + 1));
});
