import { expect, test } from "vitest";
import { createExpressionParser } from "../../../caps/chains/expressions/expression.ts";
import { compileChain } from "../../../caps/chains/plan/compile.ts";
import type { Plan } from "../../../caps/chains/plan/plan.ts";
import type { ChainNode } from "../../../caps/chains/protocol.ts";
import { drawChain, type NodeTiming } from "./draw-chain.ts";
import { layOut } from "./layout.ts";

const sizes = { nodeWidth: 100, nodeHeight: 40, columnGap: 50, rowGap: 10, margin: 5 };

function planOf(nodes: ChainNode[]): Plan {
  const { plan, problems } = compileChain(nodes, "", { parse: createExpressionParser(), maxNodes: 1000 });
  expect(problems).toEqual([]);
  return plan as Plan;
}

const diamond: ChainNode[] = [
  { node_id: "a", kind: "tool", name: "t" },
  { node_id: "b", kind: "branch", condition: "a", true_node: "c", false_node: "d" },
  { node_id: "c", kind: "tool", name: "t", on_error: "e" },
  { node_id: "d", kind: "tool", name: "t" },
  { node_id: "e", kind: "gather", deps: ["a", "c", "d"] },
];

test("no two boxes touch, and every edge goes to the right", () => {
  const plan = planOf(diamond);
  const edges = plan.edges.flat();

  const { places, ways, width, height } = layOut({ levels: plan.levels, edges }, sizes);

  const boxes = [...places.values()];
  for (const [index, one] of boxes.entries()) {
    expect(one.x - 50 >= 5 && one.x + 50 <= width - 5 && one.y - 20 >= 5 && one.y + 20 <= height - 5).toBe(true);
    for (const other of boxes.slice(index + 1))
      expect(Math.abs(one.x - other.x) >= 100 || Math.abs(one.y - other.y) >= 40).toBe(true);
  }
  for (const way of ways)
    expect(way.map(({ x }) => x)).toEqual(way.map(({ x }) => x).sort((one, other) => one - other));
  expect(ways).toHaveLength(edges.length);
});

test("a picture has every node, its action, and the edges of a branch and an error", () => {
  const svg = drawChain(planOf(diamond), { title: "diamond" });

  for (const { node_id } of diamond) expect(svg).toContain(`font-weight="600" fill="#22303c">${node_id}</text>`);
  expect(svg.match(/<path d=/g)).toHaveLength(5 + 7);
  for (const kind of ["true", "false", "error"]) expect(svg).toContain(`>${kind}</text>`);
  expect(svg).toContain(">diamond</text>");
  expect(svg).not.toContain(" ms");
});

test("after a run it shows the duration and the outcome of each node", () => {
  const timings = new Map<string, NodeTiming>([
    ["a", { state: "done", startedMs: 0, durationMs: 1500 }],
    ["b", { state: "done", startedMs: 1500, durationMs: 0 }],
    ["c", { state: "failed", startedMs: 1500, durationMs: 20 }],
    ["d", { state: "skipped", startedMs: 1500, durationMs: 0 }],
  ]);

  const svg = drawChain(planOf(diamond), { timings });

  expect(svg).toContain(">1.50 s</text>");
  expect(svg).toContain("c: tool: t (failed, after 1.50 s, 20 ms)");
  expect(svg).toContain(">3 nodes in 1.52 s</text>");
});

test("names from strangers cannot leave their text", () => {
  const svg = drawChain(planOf([{ node_id: `<script>"&'\u0007`, kind: "tool", name: "</svg>" }]), { title: "]]>&" });

  expect(svg).not.toContain("\u0007");
  expect(svg).not.toMatch(/<script|<\/svg>.*<\/svg>/s);
  expect(svg).toContain("&lt;script&gt;&quot;&amp;&apos; ");
});

test("a chain of many nodes that all read the first is drawn", () => {
  const nodes = Array.from({ length: 600 }, (_, index) => ({
    node_id: `n${index}`,
    kind: "tool",
    name: "t",
    deps: index === 0 ? [] : [...new Set(["n0", `n${index - 1}`])],
  }));

  expect(drawChain(planOf(nodes))).toContain(">n599</text>");
});
