import fc from "fast-check";
import { expect, test } from "vitest";
import { findCycle } from "./find-cycle.ts";

type Graph = ReadonlyMap<number, readonly number[]>;

const graph: fc.Arbitrary<Graph> = fc
  .array(fc.array(fc.nat({ max: 12 }), { maxLength: 4 }), { maxLength: 12 })
  .map((lists) => new Map(lists.entries()));

const find = (given: Graph, starts: Iterable<number> = given.keys()) =>
  findCycle(starts, (node) => given.get(node) ?? []);

/** The nodes that a path of at least one edge leads to. */
function reachedFrom(start: number, given: Graph): Set<number> {
  const reached = new Set<number>();
  const open = [...(given.get(start) ?? [])];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (reached.has(node)) continue;
    reached.add(node);
    open.push(...(given.get(node) ?? []));
  }
  return reached;
}

test("a cycle is found if some node reaches itself, and each of its nodes leads to the next", () => {
  fc.assert(
    fc.property(graph, (given) => {
      const cycle = find(given);
      expect(cycle !== undefined).toBe([...given.keys()].some((node) => reachedFrom(node, given).has(node)));
      if (cycle === undefined) return;
      expect(cycle.length).toBeGreaterThan(1);
      expect(cycle.at(-1)).toBe(cycle[0]);
      expect(new Set(cycle).size).toBe(cycle.length - 1);
      for (const [at, node] of cycle.slice(1).entries()) expect(given.get(cycle[at] ?? -1)).toContain(node);
    }),
  );
});

test("a cycle through the only start begins with it", () => {
  expect(
    find(
      new Map([
        [1, [2, 3]],
        [2, []],
        [3, [4]],
        [4, [1]],
      ]),
      [1],
    ),
  ).toEqual([1, 3, 4, 1]);
  expect(find(new Map([[1, [1]]]), [1])).toEqual([1, 1]);
});

test("a cycle that the starts do not lead to is not found", () => {
  expect(
    find(
      new Map([
        [1, [2]],
        [2, []],
        [3, [3]],
      ]),
      [1],
    ),
  ).toBeUndefined();
});

test("each edge is looked at once, and a path may be longer than calls can nest", () => {
  let looks = 0;
  const cycle = findCycle([0], function* (node) {
    for (let next = node + 1; next <= Math.min(node + 20, 50_000); next++) {
      looks += 1;
      yield next;
    }
  });

  expect(cycle).toBeUndefined();
  expect(looks).toBeLessThanOrEqual(50_000 * 20);
});
