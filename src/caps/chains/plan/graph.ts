// Order in a graph: cycles, reach, and the earliest step of every node.
import type { Edge } from "./plan.ts";

/** The way round, beginning and ending with the same node, or undefined. */
export function findCycle(count: number, edges: readonly (readonly Edge[])[]): number[] | undefined {
  /** 0 not seen, 1 on the way, 2 done. */
  const state = new Uint8Array(count);
  for (let start = 0; start < count; start++) {
    if (state[start] !== 0) continue;
    // Walks with a stack of its own: a chain may be longer than calls can nest.
    const way: { node: number; next: number }[] = [{ node: start, next: 0 }];
    state[start] = 1;
    for (let top = way.at(-1); top !== undefined; top = way.at(-1)) {
      const edge = edges[top.node]?.[top.next];
      top.next += 1;
      if (edge === undefined) {
        state[top.node] = 2;
        way.pop();
      } else if (state[edge.to] === 1) {
        const from = way.findIndex(({ node }) => node === edge.to);
        return [...way.slice(from).map(({ node }) => node), edge.to];
      } else if (state[edge.to] === 0) {
        state[edge.to] = 1;
        way.push({ node: edge.to, next: 0 });
      }
    }
  }
  return undefined;
}

/** Nodes that can be come to from these, and those that such nodes need. One that only leads to them is not. */
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

/** Nodes of a graph without cycles, by the length of the longest way to each. */
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
