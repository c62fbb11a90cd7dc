// Graph algorithms: reachable nodes, and the earliest step of every node.
import type { Edge } from "./plan.ts";

/** Nodes that can be reached from `starts`, and the nodes that those need. */
export function findReached(
  starts: Iterable<number>,
  edges: readonly (readonly Edge[])[],
  needed: readonly (readonly number[])[],
): Set<number> {
  const reached = new Set(starts);
  const open = [...reached];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const neighbours = [...(edges[node] ?? []).map(({ to }) => to), ...(needed[node] ?? [])];
    for (const neighbour of neighbours) {
      if (reached.has(neighbour)) continue;
      reached.add(neighbour);
      open.push(neighbour);
    }
  }
  return reached;
}

/** Nodes of a graph without cycles, by the length of the longest path to each. */
export function toLevels(count: number, edges: readonly (readonly Edge[])[], incoming: readonly number[]): number[][] {
  const left = incoming.slice();
  const levels: number[][] = [];
  let level = Array.from({ length: count }, (_, node) => node).filter((node) => left[node] === 0);
  while (level.length > 0) {
    levels.push(level);
    const next: number[] = [];
    for (const node of level) {
      for (const { to } of edges[node] ?? []) {
        left[to] = (left[to] as number) - 1;
        if (left[to] === 0) next.push(to);
      }
    }
    level = next.sort((one, other) => one - other);
  }
  return levels;
}
