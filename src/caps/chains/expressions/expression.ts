// Parses the texts of `input_map`, `condition` and `items_path`, once per chain.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { messageLimits } from "../protocol.ts";
import { toStrictSyntax } from "./loose-syntax.ts";
import { parseQuery, type Query, type Root } from "./query.ts";
import type { Work } from "./work.ts";

/** The values that expressions read. */
export interface Scope {
  /** The budget of steps that is left. */
  readonly work: Work;
  /** The value of a name; undefined if neither a node nor the input has it. */
  get(name: string): JsonValue | undefined;
  /** Whether the name is a node's; then `name.data` and `name.output` mean its output as well. */
  isNode(name: string): boolean;
  /** All values, as one object. */
  all(): JsonObject;
}

export interface Expression {
  /**
   * Names that it reads. An expression that reads everything, such as `keys($)`, also sees the outputs that exist when
   * it runs.
   */
  readonly names: readonly string[];
  evaluate(scope: Scope): JsonValue;
}

export type ParseExpression = (text: string, isNode: (name: string) => boolean) => Expression;

const path = /^(\$\.)?[A-Za-z_][\w-]*(\.[\w-]+)*$/;
const jsonLiteral = /^(-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null)$/;

/** Compiled queries are cached: a chain uses the same few in every run. */
export function createExpressionParser(maxKept = 1000): ParseExpression {
  const queries = new Map<string, Query>();
  const queryOf = (text: string): Query => {
    const known = queries.get(text);
    if (known !== undefined) return known;
    const query = parseQuery(toStrictSyntax(text));
    if (queries.size >= maxKept) queries.delete(queries.keys().next().value as string);
    queries.set(text, query);
    return query;
  };
  return (given, isNode) => {
    const text = given.trim();
    if (text.length > messageLimits.maxExpressionLength)
      throw new Error(`it is longer than ${messageLimits.maxExpressionLength} characters`);
    if (jsonLiteral.test(text)) return literalOf(JSON.parse(text) as JsonValue);
    if (path.test(text)) {
      const steps = text.replace(/^\$\./, "").split(".");
      // In JMESPath `a-b` is a subtraction, unless a node has this name.
      if (text.startsWith("$.") || !text.includes("-") || isNode(steps[0] as string)) return pathOf(steps);
    }
    return fromQuery(queryOf(text));
  };
}

function literalOf(value: JsonValue): Expression {
  return { names: [], evaluate: () => value };
}

function pathOf([name = "", ...steps]: readonly string[]): Expression {
  return { names: [name], evaluate: (scope) => walk(scope, name, steps) };
}

function fromQuery({ roots, isWhole, evaluate }: Query): Expression {
  const names = [...new Set(roots.map(({ name }) => name))];
  if (isWhole) return { names, evaluate: (scope) => evaluate(allWith(roots, scope), scope.work) };
  return {
    names,
    evaluate(scope) {
      const values: JsonObject = {};
      for (const { key, name, step } of roots) values[key] = walk(scope, name, step === undefined ? [] : [step]);
      return evaluate(values, scope.work);
    },
  };
}

/** All values, plus `data` and `output` of nodes as properties that are not enumerable. */
function allWith(roots: readonly Root[], scope: Scope): JsonObject {
  const all = { ...scope.all() };
  for (const { key, name, step } of roots)
    if (step !== undefined) Object.defineProperty(all, key, { value: walk(scope, name, [step]), enumerable: false });
  return all;
}

function walk(scope: Scope, name: string, steps: readonly string[]): JsonValue {
  let value: JsonValue = scope.get(name) ?? null;
  for (let index = 0; index < steps.length && value !== null; index++) {
    const step = steps[index] as string;
    const next = stepInto(value, step);
    // `node.data` and `node.output` mean the output itself if it has no such field.
    const isOutput = next === undefined && index === 0 && (step === "data" || step === "output") && scope.isNode(name);
    if (!isOutput) value = next ?? null;
  }
  return value;
}

function stepInto(value: JsonValue, step: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^-?\d+$/.test(step) ? value.at(Number(step)) : undefined;
  return typeof value === "object" && value !== null && Object.hasOwn(value, step) ? value[step] : undefined;
}

/** As in JMESPath, but 0 is false too, as in JavaScript and Python. */
export function isTrue(value: JsonValue): boolean {
  if (value === null || value === false || value === "" || value === 0) return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== "object" || Object.keys(value).length > 0;
}
