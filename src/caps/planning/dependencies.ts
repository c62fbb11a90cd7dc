// Which task waits for which. Kept free of storage, so that it can be tested against a simple model.

/** Tasks of a plan with those each depends on. */
export type Dependencies = ReadonlyMap<string, readonly string[]>;

/**
 * The way from `start` along its dependencies back to itself, both ends included; undefined where there is none. Keeps a
 * stack of its own: a chain of dependencies may be longer than calls can nest.
 */
export function findCycle(start: string, dependencies: Dependencies): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const open = [start];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of dependencies.get(at) ?? []) {
      if (next === start) return wayTo(at, start, cameFrom);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return undefined;
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [start];
  for (let at: string | undefined = end; at !== undefined && at !== start; at = cameFrom.get(at)) way.push(at);
  way.push(start);
  return way.reverse();
}

/** Some way round, both ends included; undefined where no task waits for itself. Looks at each dependency once. */
export function findAnyCycle(dependencies: Dependencies): string[] | undefined {
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const [id, needed] of dependencies) {
    const known = needed.filter((other) => dependencies.has(other));
    waiting.set(id, known.length);
    for (const other of known) {
      const ids = dependents.get(other) ?? [];
      dependents.set(other, ids);
      ids.push(id);
    }
  }
  const free = [...waiting].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    waiting.delete(id);
    for (const dependent of dependents.get(id) ?? []) {
      const count = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, count);
      if (count === 0) free.push(dependent);
    }
  }
  return waiting.size === 0 ? undefined : walkRound(waiting, dependencies);
}

/** Each of those that are left waits for another of them: whoever follows comes round. */
function walkRound(left: ReadonlyMap<string, unknown>, dependencies: Dependencies): string[] {
  const way: string[] = [];
  const places = new Map<string, number>();
  let [at = ""] = left.keys();
  while (!places.has(at)) {
    places.set(at, way.length);
    way.push(at);
    at = dependencies.get(at)?.find((id) => left.has(id)) ?? "";
  }
  return [...way.slice(places.get(at)), at];
}
