// A compiled JMESPath expression, with the names that it reads.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { findFunction } from "./jmespath/functions.ts";
import { interpret } from "./jmespath/interpret.ts";
import { type Ast, parseSyntax } from "./jmespath/syntax.ts";
import type { Work } from "./work.ts";

type Binary = Extract<Ast, { left: Ast; right: Ast }>;

/** The two documented spellings for "the output of a node". */
const outputNames: ReadonlySet<string> = new Set(["data", "output"]);

export interface Query {
  /** Names that it reads from its scope, each with a `data` or `output` that follows. */
  readonly roots: readonly Root[];
  /** Whether it also reads the whole scope. */
  readonly isWhole: boolean;
  /** `values` has a field for each root, by its key, and all other values if `isWhole`. */
  evaluate(values: JsonObject, work: Work): JsonValue;
}

export interface Root {
  readonly key: string;
  readonly name: string;
  /** `data` or `output`, if the expression has it: either means the whole output if that has no such field. */
  readonly step: string | undefined;
}

/** Throws if the text is not valid JMESPath, or calls an unknown function. */
export function parseQuery(text: string): Query {
  const reading = new Reading();
  const ast = reading.rewrite(parseSyntax(text), true);
  const { isWhole } = reading;
  return { roots: [...reading.roots.values()], isWhole, evaluate: (values, work) => interpret(ast, values, work) };
}

/** Collects the names that an expression reads, and gives `node.data` a key of its own. */
class Reading {
  readonly roots = new Map<string, Root>();
  isWhole = false;

  #add(name: string, step?: string): Ast {
    const key = step === undefined ? name : `${name}\u0000${step}`;
    this.roots.set(key, { key, name, step });
    return { type: "Field", name: key };
  }

  rewrite(node: Ast, isAtRoot: boolean): Ast {
    switch (node.type) {
      case "Field":
        return isAtRoot ? this.#add(node.name) : node;
      case "Root":
        this.isWhole = true;
        return node;
      case "Current":
        if (isAtRoot) this.isWhole = true;
        return node;
      case "Subexpression":
        return this.#subexpression(node, isAtRoot);
      case "Pipe":
      case "IndexExpression":
      case "Projection":
      case "ValueProjection":
        return { ...node, left: this.rewrite(node.left, isAtRoot), right: this.rewrite(node.right, false) };
      case "FilterProjection":
        return {
          ...node,
          left: this.rewrite(node.left, isAtRoot),
          right: this.rewrite(node.right, false),
          condition: this.rewrite(node.condition, false),
        };
      case "OrExpression":
      case "AndExpression":
      case "Comparator":
      case "Arithmetic":
        return { ...node, left: this.rewrite(node.left, isAtRoot), right: this.rewrite(node.right, isAtRoot) };
      case "NotExpression":
      case "Flatten":
        return { ...node, child: this.rewrite(node.child, isAtRoot) };
      case "ExpressionReference":
        // Applied to the items of a list, not to the scope.
        return { ...node, child: this.rewrite(node.child, false) };
      case "Unary":
        return { ...node, operand: this.rewrite(node.operand, isAtRoot) };
      case "Ternary":
        return {
          ...node,
          condition: this.rewrite(node.condition, isAtRoot),
          trueExpr: this.rewrite(node.trueExpr, isAtRoot),
          falseExpr: this.rewrite(node.falseExpr, isAtRoot),
        };
      case "Function":
        findFunction(node.name, node.children.length);
        return { ...node, children: node.children.map((child) => this.rewrite(child, isAtRoot)) };
      case "MultiSelectList":
        return { ...node, children: node.children.map((child) => this.rewrite(child, isAtRoot)) };
      case "MultiSelectHash":
        return {
          ...node,
          children: node.children.map((pair) => ({ ...pair, value: this.rewrite(pair.value, isAtRoot) })),
        };
      case "LetExpression":
        return {
          ...node,
          bindings: node.bindings.map((binding) => ({
            ...binding,
            reference: this.rewrite(binding.reference, isAtRoot),
          })),
          expression: this.rewrite(node.expression, isAtRoot),
        };
      default:
        return node;
    }
  }

  #subexpression(node: Binary, isAtRoot: boolean): Ast {
    const { left, right } = node;
    const name = rootName(left, isAtRoot);
    const first = leftmostField(right);
    if (name !== undefined && first !== undefined && outputNames.has(first)) {
      const field = this.#add(name, first);
      const output: Ast = isAtRoot ? field : { type: "Subexpression", left: { type: "Root" }, right: field };
      return withSides(node, output, this.rewrite(withoutLeftmost(right), false));
    }
    // `$.name`: a single field of the scope, not all of it.
    if (left.type === "Root" && first !== undefined) {
      this.#add(first);
      return withSides(node, left, this.rewrite(right, false));
    }
    return withSides(node, this.rewrite(left, isAtRoot), this.rewrite(right, false));
  }
}

function withSides(node: Binary, left: Ast, right: Ast): Ast {
  return { ...node, left, right } as Ast;
}

/** The name that `name` or `$.name` reads from the scope. */
function rootName(node: Ast, isAtRoot: boolean): string | undefined {
  if (node.type === "Field") return isAtRoot ? node.name : undefined;
  if (node.type !== "Subexpression" || node.left.type !== "Root") return undefined;
  return node.right.type === "Field" ? node.right.name : undefined;
}

function leftmostField(node: Ast): string | undefined {
  if (node.type === "Field") return node.name;
  return isChain(node) ? leftmostField(node.left) : undefined;
}

function withoutLeftmost(node: Ast): Ast {
  return isChain(node) ? ({ ...node, left: withoutLeftmost(node.left) } as Ast) : { type: "Current" };
}

function isChain(node: Ast): node is Binary {
  return (
    node.type === "Subexpression" ||
    node.type === "IndexExpression" ||
    node.type === "Projection" ||
    node.type === "ValueProjection" ||
    node.type === "FilterProjection"
  );
}
