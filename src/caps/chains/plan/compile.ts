// Compiles the nodes of a request to a plan, or to a list of all problems.

import { findCycle } from "../../../machinery/find-cycle.ts";
import type { ParseExpression } from "../expressions/expression.ts";
import type { ChainNode, ChainProblem } from "../protocol.ts";
import { findReached, toLevels } from "./graph.ts";
import { NodePlanner } from "./node-planner.ts";
import { type NodeSpec, toNodeSpec } from "./node-spec.ts";
import { createOutputForm } from "./output-form.ts";
import type { Edge, EdgeKind, Plan, PlannedNode } from "./plan.ts";
import { ProblemList } from "./problem-list.ts";

export interface CompileOptions {
  readonly parse: ParseExpression;
  readonly maxNodes: number;
}

/** The names of a chain that must exist in the session. */
export type Names = Pick<Plan, "indexOf" | "inputs" | "tools" | "skills" | "actions" | "hasProcs">;

export interface Compiled {
  /** Undefined if there are problems. */
  readonly plan: Plan | undefined;
  readonly problems: readonly ChainProblem[];
  readonly names: Names;
}

export function compileChain(nodes: readonly ChainNode[], entry: string, options: CompileOptions): Compiled {
  const problems = new ProblemList();
  if (nodes.length === 0) problems.add("bad_entry", "the chain has no nodes");
  if (nodes.length > options.maxNodes) {
    problems.add("chain_error", `the chain has ${nodes.length} nodes; the host allows ${options.maxNodes} (max_nodes)`);
    return { plan: undefined, problems: problems.all, names: noNames };
  }
  const specs = readSpecs(nodes, problems);
  const templates = new Set([...specs.values()].flatMap(({ kind, mapNode }) => (kind === "map" ? [mapNode] : [])));
  const main = [...specs.values()].filter(({ id }) => !templates.has(id));
  const compiler = new Compiler(specs, main, problems);
  if (entry !== "" && !compiler.indexOf.has(entry)) {
    const hint = problems.hint(entry, [...compiler.indexOf.keys()]);
    problems.add("bad_entry", `entry_node "${entry.slice(0, 40)}" is not a node${hint}`, entry);
  }
  const planner = new NodePlanner({
    parse: options.parse,
    specs,
    templates,
    problems,
    readNode: (from, to) => compiler.addEdge(from, to, "wait"),
    isNode: (name) => compiler.indexOf.has(name),
  });
  const planned = main.map((spec, index) => planner.plan(spec, index));
  for (const spec of main) compiler.addEdgesOf(spec);
  for (const id of templates) checkTemplate(specs.get(id), problems);
  const graph = compiler.graph();
  compiler.checkOrder(graph, entry);
  const { indexOf } = compiler;
  const names = { indexOf, ...planner.summary() };
  if (problems.all.length > 0) return { plan: undefined, problems: problems.all, names };
  const nodesWithSources = planned.map((node) => withSources(node, graph.awaited[node.index] ?? []));
  const toOutputs = createOutputForm(main.map(({ id }) => id));
  const passing = nodesWithSources.filter(({ work }) => !calledKinds.has(work.kind)).map(({ index }) => index);
  return { plan: { nodes: nodesWithSources, toOutputs, passing, ...graph, ...names }, problems: [], names };
}

/** Kinds whose output is always a new value. */
const calledKinds: ReadonlySet<string> = new Set(["tool", "skill", "action"]);

const noNames: Names = {
  indexOf: new Map(),
  inputs: new Map(),
  tools: new Map(),
  skills: new Map(),
  actions: new Map(),
  hasProcs: false,
};

function readSpecs(nodes: readonly ChainNode[], problems: ProblemList): Map<string, NodeSpec> {
  const specs = new Map<string, NodeSpec>();
  nodes.forEach((node, place) => {
    const spec = toNodeSpec(node, place, problems);
    if (spec === undefined) return;
    if (specs.has(spec.id)) problems.add("duplicate_node", `there are two nodes "${spec.id}"`, spec.id);
    else specs.set(spec.id, spec);
  });
  return specs;
}

/**
 * A node that a map runs must not have successors: only the map can. They would have nothing to wait for, and start at
 * once.
 */
function checkTemplate(spec: NodeSpec | undefined, problems: ProblemList): void {
  if (spec === undefined) return;
  const { id, next, whenTrue, whenFalse, onError } = spec;
  const handler = onError === "abort" || onError === "skip" ? "" : onError;
  const fields = { next_node: next, true_node: whenTrue, false_node: whenFalse, on_error: handler };
  for (const [field, target] of Object.entries(fields)) {
    if (target === "") continue;
    const why = `"${id}" is run by a map for its items and leads nowhere: set ${field} on the map`;
    problems.add("bad_node", why, id);
  }
}

/**
 * Without `items_path`, gather and reduce use the outputs of the nodes before them, in the order in which they are
 * named.
 */
function withSources(node: PlannedNode, sources: readonly number[]): PlannedNode {
  const { work } = node;
  return work.kind === "gather" || work.kind === "reduce" ? { ...node, work: { ...work, sources } } : node;
}

interface Graph extends Pick<Plan, "edges" | "incoming" | "isLedTo" | "isUnconditional" | "roots" | "ends" | "levels"> {
  /** By node: the nodes before it, in the order in which they are named. */
  readonly awaited: readonly (readonly number[])[];
  /** By node: the nodes that it names in `deps` or in its expressions. */
  readonly needed: readonly (readonly number[])[];
}

/** Part of the key of an edge: `wait` and `next` between the same nodes are one edge, all other kinds are separate. */
const edgeKind: Readonly<Record<EdgeKind, number>> = { wait: 0, next: 0, true: 1, false: 2, error: 3 };
const edgeKinds = 4;

class Compiler {
  readonly indexOf = new Map<string, number>();
  readonly #specs: ReadonlyMap<string, NodeSpec>;
  readonly #main: readonly NodeSpec[];
  readonly #problems: ProblemList;
  /** By both nodes and the kind; `next` replaces `wait`. */
  readonly #edges = new Map<number, Edge>();
  readonly #needed: number[][];

  constructor(specs: ReadonlyMap<string, NodeSpec>, main: readonly NodeSpec[], problems: ProblemList) {
    this.#specs = specs;
    this.#main = main;
    this.#problems = problems;
    this.#needed = main.map(() => []);
    main.forEach(({ id }, index) => void this.indexOf.set(id, index));
  }

  addEdgesOf(spec: NodeSpec): void {
    const index = this.indexOf.get(spec.id) as number;
    for (const dep of this.#depsOf(spec)) {
      const from = this.#find(dep, spec.id, "deps");
      if (from !== undefined) this.addEdge(from, index, "wait");
    }
    const targets: [EdgeKind, string, string][] = [["next", "next_node", spec.next]];
    if (spec.kind === "branch")
      targets.push(["true", "true_node", spec.whenTrue], ["false", "false_node", spec.whenFalse]);
    if (spec.onError !== "abort" && spec.onError !== "skip") targets.push(["error", "on_error", spec.onError]);
    for (const [kind, field, target] of targets) {
      const to = target === "" ? undefined : this.#find(target, spec.id, field);
      if (to !== undefined) this.addEdge(index, to, kind);
    }
  }

  /** Includes the dependencies of the node that a map runs, recursively. */
  #depsOf(spec: NodeSpec): Set<string> {
    const deps = new Set<string>();
    const seen = new Set<NodeSpec>();
    for (let next: NodeSpec | undefined = spec; next !== undefined && !seen.has(next); ) {
      seen.add(next);
      for (const dep of next.deps) deps.add(dep);
      next = next.kind === "map" ? this.#specs.get(next.mapNode) : undefined;
    }
    return deps;
  }

  addEdge(from: number, to: number, kind: EdgeKind): void {
    if (kind === "wait") this.#needed[to]?.push(from);
    const key = (from * this.#main.length + to) * edgeKinds + edgeKind[kind];
    if (this.#edges.get(key)?.kind === "next") return;
    this.#edges.set(key, { from, to, kind });
  }

  #find(name: string, by: string, field: string): number | undefined {
    const index = this.indexOf.get(name);
    if (index !== undefined) return index;
    const isTemplate = this.#specs.has(name);
    const why = isTemplate
      ? `"${name}", which a map runs for its items: name the map instead`
      : `"${name.slice(0, 40)}", which is not a node${this.#problems.hint(name, [...this.indexOf.keys()])}`;
    this.#problems.add("unknown_node", `${field} of "${by}" names ${why}`, by);
    return undefined;
  }

  graph(): Graph {
    const count = this.#main.length;
    const edges: Edge[][] = Array.from({ length: count }, () => []);
    const before: Set<number>[] = Array.from({ length: count }, () => new Set());
    const incoming = new Array<number>(count).fill(0);
    const isLedTo = new Array<boolean>(count).fill(false);
    for (const edge of this.#edges.values()) {
      edges[edge.from]?.push(edge);
      before[edge.to]?.add(edge.from);
      incoming[edge.to] = (incoming[edge.to] as number) + 1;
      if (edge.kind !== "wait") isLedTo[edge.to] = true;
    }
    // Edges of expressions were added before those of `deps`; authors expect the order of `deps`.
    const awaited = this.#main.map(({ deps }, index) => {
      const named = deps.flatMap((dep) => this.indexOf.get(dep) ?? []);
      return [...new Set([...named, ...(before[index] ?? [])])];
    });
    const nodes = Array.from({ length: count }, (_, node) => node);
    const roots = nodes.filter((node) => incoming[node] === 0);
    const ends = nodes.filter((node) => edges[node]?.length === 0);
    const levels = toLevels(count, edges, incoming);
    const isUnconditional = !isLedTo.includes(true);
    return { edges, incoming, isLedTo, isUnconditional, roots, ends, awaited, needed: this.#needed, levels };
  }

  /** Finds cycles, and nodes that cannot be reached. */
  checkOrder({ edges, roots, needed }: Graph, entry: string): void {
    const cycle = findCycle(this.#main.keys(), (node) => (edges[node] ?? []).map(({ to }) => to))?.map(
      (index) => this.#main[index]?.id ?? "",
    );
    if (cycle !== undefined)
      this.#problems.add("chain_cycle", `nodes wait for each other: ${cycle.join(" → ")}`, cycle[0], cycle);
    const start = this.indexOf.get(entry);
    // Without an entry every node without predecessors starts, so only a cycle can be unreachable, and it is reported
    // already.
    if (entry === "" || start === undefined) return;
    const reached = findReached([start], edges, needed);
    this.#main.forEach(({ id }, index) => {
      if (reached.has(index)) return;
      const why = roots.includes(index) ? "no path leads there" : "only unreachable nodes lead there";
      this.#problems.add("unreachable_node", `"${id}" is not reached from entry_node "${entry}": ${why}`, id);
    });
  }
}
