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
