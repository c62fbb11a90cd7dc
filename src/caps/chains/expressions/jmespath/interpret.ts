// Evaluates a parsed JMESPath expression. It reads only own properties of the data, and spends steps for everything it
// does.
import { isJsonObject, type JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../work.ts";
import { callFunction, findFunction } from "./functions.ts";
import { type Argument, Lambda } from "./query-function.ts";
import type { Ast } from "./syntax.ts";
import { isEqual, isFalse, kindOf, slice } from "./values.ts";

/** Variables bound by `let`, innermost first. */
interface Variables {
  readonly names: ReadonlyMap<string, JsonValue>;
  readonly outer: Variables | undefined;
}

export function interpret(ast: Ast, root: JsonValue, work: Work): JsonValue {
  return new Interpreter(root, work).value(ast, root, undefined);
}

class Interpreter {
  readonly #root: JsonValue;
  readonly #work: Work;

  constructor(root: JsonValue, work: Work) {
    this.#root = root;
    this.#work = work;
  }

  value(node: Ast, current: JsonValue, variables: Variables | undefined): JsonValue {
    this.#work.spend(1);
    switch (node.type) {
      case "Field":
        return isJsonObject(current) && Object.hasOwn(current, node.name) ? (current[node.name] ?? null) : null;
      case "Subexpression": {
        const left = this.value(node.left, current, variables);
        return left === null ? null : this.value(node.right, left, variables);
      }
      case "Pipe":
      case "IndexExpression":
        return this.value(node.right, this.value(node.left, current, variables), variables);
      case "Index":
        return Array.isArray(current) ? (current.at(node.value) ?? null) : null;
      case "Slice":
        if (Array.isArray(current)) return slice(current, node, this.#work);
        if (typeof current !== "string") return null;
        this.#work.spend(current.length);
        return slice([...current], node, this.#work).join("");
      case "Projection":
      case "ValueProjection":
        return this.#project(node, undefined, current, variables);
      case "FilterProjection":
        return this.#project(node, node.condition, current, variables);
      case "Flatten":
        return this.#flatten(this.value(node.child, current, variables));
      case "MultiSelectList":
        return node.children.map((child) => this.value(child, current, variables));
      case "MultiSelectHash":
        return Object.fromEntries(
          node.children.map(({ name, value }) => [name, this.value(value, current, variables)]),
        );
      case "OrExpression":
      case "AndExpression": {
        const left = this.value(node.left, current, variables);
        return isFalse(left) === (node.type === "OrExpression") ? this.value(node.right, current, variables) : left;
      }
      case "NotExpression":
        return isFalse(this.value(node.child, current, variables));
      case "Comparator": {
        const left = this.value(node.left, current, variables);
        return this.#compare(node.name, left, this.value(node.right, current, variables));
      }
      case "Arithmetic": {
        const left = this.value(node.left, current, variables);
        return calculate(node.operator, left, this.value(node.right, current, variables));
      }
      case "Unary": {
        const operand = toNumber(this.value(node.operand, current, variables));
        return node.operator === "Minus" ? -operand : operand;
      }
      case "Ternary": {
        const isMet = !isFalse(this.value(node.condition, current, variables));
        return this.value(isMet ? node.trueExpr : node.falseExpr, current, variables);
      }
      case "Function":
        return this.#call(node, current, variables);
      case "LetExpression": {
        const names = new Map(
          node.bindings.map(
            ({ variable, reference }) => [variable, this.value(reference, current, variables)] as const,
          ),
        );
        return this.value(node.expression, current, { names, outer: variables });
      }
      case "Variable":
        return find(node.name, variables);
      case "Literal":
        return node.value;
      case "Root":
        return this.#root;
      case "Current":
      case "Identity":
        return current;
      default:
        throw new Error(`${node.type} cannot be evaluated on its own`);
    }
  }

  #project(
    { type, left, right }: { type: Ast["type"]; left: Ast; right: Ast },
    condition: Ast | undefined,
    current: JsonValue,
    variables: Variables | undefined,
  ): JsonValue {
    const base = this.value(left, current, variables);
    // A slice of a text is a text, and the rest of the expression applies to it.
    if (typeof base === "string" && isSlice(left)) return this.value(right, base, variables);
    const items = type === "ValueProjection" ? (isJsonObject(base) ? Object.values(base) : null) : base;
    if (!Array.isArray(items)) return null;
    const projected: JsonValue[] = [];
    for (const item of items) {
      if (condition !== undefined && isFalse(this.value(condition, item, variables))) continue;
      const value = this.value(right, item, variables);
      if (value !== null) projected.push(value);
    }
    return projected;
  }

  #flatten(value: JsonValue): JsonValue {
    if (!Array.isArray(value)) return null;
    this.#work.spend(value.reduce<number>((sum, item) => sum + (Array.isArray(item) ? item.length : 1), 0));
    return value.flat(1) as JsonValue[];
  }

  #compare(name: Extract<Ast, { type: "Comparator" }>["name"], left: JsonValue, right: JsonValue): JsonValue {
    if (name === "EQ") return isEqual(left, right, this.#work);
    if (name === "NE") return !isEqual(left, right, this.#work);
    if (typeof left !== "number" || typeof right !== "number") return null;
    switch (name) {
      case "GT":
        return left > right;
      case "GTE":
        return left >= right;
      case "LT":
        return left < right;
      default:
        return left <= right;
    }
  }

  #call(
    { name, children }: Extract<Ast, { type: "Function" }>,
    current: JsonValue,
    variables: Variables | undefined,
  ): JsonValue {
    const args = children.map((child): Argument => {
      if (child.type !== "ExpressionReference") return this.value(child, current, variables);
      return new Lambda((item) => this.value(child.child, item, variables));
    });
    return callFunction(name, findFunction(name, args.length), args, this.#work);
  }
}

function isSlice(node: Ast): boolean {
  return node.type === "IndexExpression" && node.right.type === "Slice";
}

function find(name: string, variables: Variables | undefined): JsonValue {
  for (let frame = variables; frame !== undefined; frame = frame.outer) {
    const value = frame.names.get(name);
    if (value !== undefined) return value;
  }
  throw new Error(`unknown variable $${name}`);
}

function toNumber(value: JsonValue): number {
  if (typeof value === "number") return value;
  throw new Error(`arithmetic needs numbers, not ${kindOf(value)}`);
}

function calculate(operator: Extract<Ast, { type: "Arithmetic" }>["operator"], left: JsonValue, right: JsonValue) {
  const [one, other] = [toNumber(left), toNumber(right)];
  switch (operator) {
    case "Plus":
      return one + other;
    case "Minus":
      return one - other;
    case "Modulo":
      return one % divisor(other);
    case "Divide":
      return one / divisor(other);
    case "Div":
      return Math.floor(one / divisor(other));
    default:
      return one * other;
  }
}

function divisor(value: number): number {
  if (value !== 0) return value;
  throw new Error("division by 0");
}
