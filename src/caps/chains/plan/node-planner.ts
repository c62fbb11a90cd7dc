// Compiles one node: its expressions, and the names that it reads and calls.
import type { JsonValue } from "../../../protocol/json.ts";
import type { Expression, ParseExpression } from "../expressions/expression.ts";
import { chainLimits } from "../limits.ts";
import { reducers } from "../run/nodes/reducers.ts";
import type { NodeSpec } from "./node-spec.ts";
import { constant, type InputPlan, type Plan, type PlannedNode, type Work } from "./plan.ts";
import type { ProblemList } from "./problem-list.ts";

interface PlannerPort {
  readonly parse: ParseExpression;
  readonly specs: ReadonlyMap<string, NodeSpec>;
  /** Ids of nodes that maps run. */
  readonly templates: ReadonlySet<string>;
  readonly problems: ProblemList;
  isNode(name: string): boolean;
  /** Node `to` reads the output of node `from`. */
  readNode(from: number, to: number): void;
}

type Names = Map<string, string[]>;

export class NodePlanner {
  readonly #port: PlannerPort;
  readonly #inputs: Names = new Map();
  readonly #tools: Names = new Map();
  readonly #skills: Names = new Map();
  readonly #actions: Names = new Map();
  #hasProcs = false;
  #needsSignal = false;
  #expressionsLength = 0;
  readonly #indexOf = new Map<string, number>();

  constructor(port: PlannerPort) {
    this.#port = port;
    for (const id of port.specs.keys()) if (port.isNode(id)) this.#indexOf.set(id, this.#indexOf.size);
  }

  summary(): Pick<Plan, "inputs" | "tools" | "skills" | "actions" | "hasProcs" | "needsSignal"> {
    return {
      inputs: this.#inputs,
      tools: this.#tools,
      skills: this.#skills,
      actions: this.#actions,
      hasProcs: this.#hasProcs,
      needsSignal: this.#needsSignal,
    };
  }

  plan(spec: NodeSpec, index: number): PlannedNode {
    return this.#node(spec, index, this.#work(spec, index, false, []));
  }

  #node(spec: NodeSpec, index: number, work: Work): PlannedNode {
    const { id, onError, retryDelayMs, timeoutMs } = spec;
    // The retries of a map apply to its items.
    const retries = work.kind === "map" ? 0 : spec.retries;
    if (retries > 0) this.#needsSignal = true;
    return {
      index,
      id,
      key: id.replace(/[%:]/g, encodeURIComponent),
      work,
      onError: onError === "abort" || onError === "skip" ? onError : "node",
      retries,
      retryDelayMs,
      timeoutMs,
    };
  }

  /** `reader` is the node that waits for the outputs that are read: for a node that a map runs, it is the map. */
  #work(spec: NodeSpec, reader: number, isInMap: boolean, within: readonly string[]): Work {
    const { id, kind, name } = spec;
    const read = (text: JsonValue, field: string) => this.#expression(text, field, id, reader, isInMap);
    switch (kind) {
      case "branch":
        if (isInMap) this.#port.problems.add("bad_node", `a map cannot run "${id}": it is a branch`, id);
        return { kind, condition: read(spec.condition, "condition") };
      case "map":
        return {
          kind,
          items: read(spec.items ?? [], "items_path"),
          each: this.#template(spec, reader, [...within, id]),
          maxParallel: spec.maxParallel,
        };
      case "gather":
        if (isInMap) this.#port.problems.add("bad_node", `a map cannot run "${id}": it is a gather`, id);
        return { kind, sources: [], input: this.#input(spec, reader, isInMap) };
      case "reduce": {
        if (name !== "" && !Object.hasOwn(reducers, name)) note(this.#tools, name, id);
        const items = spec.items === undefined ? undefined : read(spec.items, "items_path");
        if (isInMap && items === undefined)
          this.#port.problems.add(
            "bad_node",
            `"${id}" is run by a map and needs items_path, because no node comes before it`,
            id,
          );
        return { kind, name, items, sources: [], input: this.#input(spec, reader, isInMap) };
      }
      case "approval":
        this.#needsSignal = true;
        return { kind, message: spec.message || name, input: this.#input(spec, reader, isInMap) };
      default: {
        if (kind === "proc") this.#hasProcs = this.#needsSignal = true;
        else if (name !== "")
          note(kind === "tool" ? this.#tools : kind === "skill" ? this.#skills : this.#actions, name, id);
        return { kind, name, input: this.#input(spec, reader, isInMap) };
      }
    }
  }

  /** The node that a map runs for its items: another node, or the tool or skill that the map names itself. */
  #template(map: NodeSpec, reader: number, within: readonly string[]): PlannedNode {
    const { problems, specs } = this.#port;
    const own: NodeSpec = { ...map, kind: "action", mapNode: "" };
    if (map.mapNode !== "" && map.retries > 0)
      problems.add(
        "bad_node",
        `a map itself is not retried, only its items are: set retries on "${map.mapNode}"`,
        map.id,
      );
    if (map.mapNode === "") return this.#node(own, -1, this.#work(own, reader, true, within));
    const template = specs.get(map.mapNode);
    if (template === undefined) {
      const hint = problems.hint(map.mapNode, [...specs.keys()]);
      const why = `map_node of "${map.id}" names "${map.mapNode.slice(0, 40)}", which is not a node${hint}`;
      problems.add("unknown_node", why, map.id);
    } else if (within.includes(template.id)) {
      const cycle = [...within.slice(within.indexOf(template.id)), template.id];
      problems.add("chain_cycle", `maps run each other: ${cycle.join(" → ")}`, map.id, cycle);
    } else return this.#node(template, -1, this.#work(template, reader, true, within));
    return this.#node(own, -1, { kind: "action", name: "", input: { fixed: {}, mapped: [] } });
  }

  #input(spec: NodeSpec, reader: number, isInMap: boolean): InputPlan {
    if (this.#expressionsLength > chainLimits.maxExpressionsLength) return { fixed: spec.input, mapped: [] };
    const entries = Object.entries(spec.inputMap);
    // As in the SDK, a node without an input gets the item.
    if (isInMap && entries.length === 0 && Object.keys(spec.input).length === 0) entries.push(["item", "item"]);
    return {
      fixed: spec.input,
      mapped: entries.map(
        ([field, value]) => [field, this.#expression(value, `input_map.${field}`, spec.id, reader, isInMap)] as const,
      ),
    };
  }

  #expression(value: JsonValue, field: string, id: string, reader: number, isInMap: boolean): Expression {
    if (typeof value !== "string") return constant(value);
    if (!this.#takeLength(value.length) || this.#port.problems.isFull) return constant(null);
    let expression: Expression;
    try {
      expression = this.#port.parse(value, this.#port.isNode);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#port.problems.add("bad_expression", `${field} of "${id}": ${value.slice(0, 100)}: ${why}`, id);
      return constant(null);
    }
    for (const name of expression.names) this.#read(name, field, id, reader, isInMap);
    return expression;
  }

  /** False if the chain has too many expressions, which is reported once. */
  #takeLength(length: number): boolean {
    const { maxExpressionsLength } = chainLimits;
    const isTold = this.#expressionsLength > maxExpressionsLength;
    // A constant for each expression, since even a short one takes time to compile.
    this.#expressionsLength += length + 16;
    if (this.#expressionsLength <= maxExpressionsLength) return true;
    const why = `the expressions of this chain are longer than ${maxExpressionsLength} characters together`;
    if (!isTold) this.#port.problems.add("chain_error", why);
    return false;
  }

  #read(name: string, field: string, id: string, reader: number, isInMap: boolean): void {
    const index = this.#indexOf.get(name);
    if (index !== undefined) return this.#port.readNode(index, reader);
    if (name === "input" || name === "errors" || (isInMap && (name === "item" || name === "_item"))) return;
    if (this.#port.templates.has(name)) {
      const why = `${field} of "${id}" reads "${name}", which a map runs for its items: read the map instead`;
      return this.#port.problems.add("unknown_node", why, id);
    }
    note(this.#inputs, name, id);
  }
}

function note(names: Names, name: string, id: string): void {
  const users = names.get(name);
  if (users === undefined) names.set(name, [id]);
  else if (!users.includes(id)) users.push(id);
}
