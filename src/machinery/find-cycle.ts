/**
 * Returns a cycle that can be reached from the starts: the nodes along it, with the first node again at the end.
 * Undefined if there is no cycle. Visits each edge once, with a stack of its own: a path may be longer than calls can
 * nest.
 */
export function findCycle<Node>(starts: Iterable<Node>, nextOf: (node: Node) => Iterable<Node>): Node[] | undefined {
  /** True for a node on the path from a start to the present node, false for a node that no cycle goes through. */
  const seen = new Map<Node, boolean>();
  for (const start of starts) {
    if (seen.has(start)) continue;
    seen.set(start, true);
    const path = [{ node: start, left: nextOf(start)[Symbol.iterator]() }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { value: next, done: isDone } = top.left.next();
      if (isDone) {
        seen.set(top.node, false);
        path.pop();
      } else if (seen.get(next) === true) {
        const nodes = path.map(({ node }) => node);
        return [...nodes.slice(nodes.indexOf(next)), next];
      } else if (!seen.has(next)) {
        seen.set(next, true);
        path.push({ node: next, left: nextOf(next)[Symbol.iterator]() });
      }
    }
  }
  return undefined;
}
