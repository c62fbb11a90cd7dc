import fc from "fast-check";
import { expect, test } from "vitest";
import { findAnyCycle, findCycle } from "./dependencies.ts";

const graph = fc
  .array(fc.array(fc.nat({ max: 12 }), { maxLength: 4 }), { maxLength: 12 })
  .map((lists) => new Map(lists.map((deps, index) => [String(index), deps.map(String)])));

test("a way round is found where some task waits for itself, and is one", () => {
  fc.assert(
    fc.property(graph, (dependencies) => {
      const isRound = [...dependencies.keys()].some((id) => findCycle(id, dependencies) !== undefined);
      const cycle = findAnyCycle(dependencies);
      expect(cycle !== undefined).toBe(isRound);
      if (cycle === undefined) return;
      expect(cycle.length).toBeGreaterThan(1);
      expect(cycle.at(-1)).toBe(cycle[0]);
      for (const [at, id] of cycle.slice(1).entries()) expect(dependencies.get(cycle[at] ?? "")).toContain(id);
    }),
  );
});

test("a plan of the largest size is looked through once, not once for each task", () => {
  const ids = Array.from({ length: 5000 }, (_, at) => String(at));
  let looks = 0;
  const dependencies = new Map(
    ids.map((id, at) => {
      const deps = ids.slice(Math.max(0, at - 200), at);
      return [id, new Proxy(deps, { get: (target, name) => countLook(target, name) })] as const;
    }),
  );
  function countLook(target: string[], name: string | symbol): unknown {
    if (typeof name === "string" && /^\d+$/.test(name)) looks += 1;
    return Reflect.get(target, name);
  }

  expect(findAnyCycle(dependencies)).toBeUndefined();
  expect(looks).toBeLessThan(2 * 5000 * 200);
});
