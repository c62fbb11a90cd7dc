// The values that expressions of one run can read: outputs of nodes, the initial input, and the item within a map.
import { isLargerThan } from "../../../machinery/validation/json-size.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Scope } from "../expressions/expression.ts";
import { Work } from "../expressions/work.ts";
import { chainLimits } from "../limits.ts";
import type { InputPlan, Plan } from "../plan/plan.ts";
import { inputTooLarge } from "./nodes/node-error.ts";

export class RunScope implements Scope {
  readonly #plan: Plan;
  readonly #input: JsonObject;
  /** By node; undefined for a node without an output. */
  readonly outputs: (JsonValue | undefined)[];
  /** The errors of failed nodes, by their ids. */
  readonly errors: JsonObject = {};
  readonly work = new Work();

  constructor(plan: Plan, input: JsonObject) {
    this.#plan = plan;
    this.#input = input;
    this.outputs = new Array(plan.nodes.length).fill(undefined);
  }

  get(name: string): JsonValue | undefined {
    const index = this.#plan.indexOf.get(name);
    if (index !== undefined) return this.outputs[index];
    if (name === "input") return Object.hasOwn(this.#input, "input") ? this.#input.input : this.#input;
    if (Object.hasOwn(this.#input, name)) return this.#input[name];
    return name === "errors" ? this.errors : undefined;
  }

  isNode(name: string): boolean {
    return this.#plan.indexOf.has(name);
  }

  all(): JsonObject {
    const all: JsonObject = { errors: this.errors, ...this.#input, input: this.get("input") ?? null };
    for (const { id, index } of this.#plan.nodes) {
      const output = this.outputs[index];
      if (output !== undefined) all[id] = output;
    }
    return all;
  }
}

/** The same scope plus an item of a map, under both of its documented names. */
export function withItem(scope: Scope, item: JsonValue): Scope {
  return {
    work: scope.work,
    get: (name) => (name === "item" || name === "_item" ? item : scope.get(name)),
    isNode: (name) => scope.isNode(name),
    all: () => ({ ...scope.all(), item, _item: item }),
  };
}

export function toInput({ fixed, mapped }: InputPlan, scope: Scope): JsonObject {
  if (mapped.length === 0) return fixed;
  const input: JsonObject = { ...fixed };
  for (const [field, expression] of mapped) {
    if (field !== "__proto__") input[field] = expression.evaluate(scope);
  }
  // Outputs are shared by reference here, any number of times, but each recipient copies them all.
  if (isLargerThan(input, chainLimits.maxValueBytes)) throw inputTooLarge(chainLimits.maxValueBytes);
  return input;
}
