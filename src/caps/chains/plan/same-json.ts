// Compares two values that were parsed by a table, field by field: cheaper than hashing both.
import type { z } from "zod";
import { isJsonObject, type JsonObject, jsonObject, jsonValue } from "../../../protocol/json.ts";

export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    for (let index = 0; index < one.length; index++) if (!isSameJson(one[index], other[index])) return false;
    return true;
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  let fields = 0;
  for (const key in one) {
    if (!isSameJson(one[key], (other as JsonObject)[key])) return false;
    fields += 1;
  }
  for (const _ in other) fields -= 1;
  return fields === 0;
}

type Comparison = (one: unknown, other: unknown) => boolean;

/**
 * Like `isSameJson`, with a function generated for this schema: reading the fields of the schema is several times
 * faster than enumerating the fields of each object.
 */
export function createComparison(schema: z.ZodType): Comparison {
  try {
    const body = new ComparisonWriter().statement(schema, "one", "other");
    return new Function("isSameJson", `return (one, other) => { ${body} return true; }`)(isSameJson) as Comparison;
  } catch {
    // Generated code may be forbidden in this process.
    return isSameJson;
  }
}

interface Definition {
  type: string;
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  catchall?: unknown;
}

/** Generates statements that return false if two expressions differ. */
class ComparisonWriter {
  #names = 0;

  statement(schema: z.ZodType, one: string, other: string): string {
    const definition = schema._zod.def as unknown as Definition;
    const isFree = definition === (jsonObject._zod.def as unknown) || definition === (jsonValue._zod.def as unknown);
    switch (isFree ? "free" : definition.type) {
      case "string":
      case "number":
      case "boolean":
      case "enum":
        return `if (${one} !== ${other}) return false;`;
      case "optional":
      case "nullable":
      case "default":
        return this.#wrapped(definition.innerType as z.ZodType, one, other);
      case "array":
        return this.#array(definition.element as z.ZodType, one, other);
      case "object":
        if (definition.catchall === undefined) return this.#object(definition.shape ?? {}, one, other);
    }
    return `if (!isSameJson(${one}, ${other})) return false;`;
  }

  /** Optional and nullable values are equal if both are missing, and are compared if neither is. */
  #wrapped(inner: z.ZodType, one: string, other: string): string {
    const compare = this.statement(inner, one, other);
    return `if (${one} !== ${other}) { if (${one} == null || ${other} == null) return false; ${compare} }`;
  }

  #array(element: z.ZodType, one: string, other: string): string {
    const [index, a, b] = [this.#name(), this.#name(), this.#name()];
    return `if (${one}.length !== ${other}.length) return false;
      for (let ${index} = 0; ${index} < ${one}.length; ${index}++) {
        const ${a} = ${one}[${index}], ${b} = ${other}[${index}]; ${this.statement(element, a, b)}
      }`;
  }

  #object(shape: Record<string, z.ZodType>, one: string, other: string): string {
    return Object.entries(shape)
      .map(([key, schema]) => {
        const [a, b] = [this.#name(), this.#name()];
        const name = JSON.stringify(key);
        return `const ${a} = ${one}[${name}], ${b} = ${other}[${name}]; ${this.statement(schema, a, b)}`;
      })
      .join("\n");
  }

  #name(): string {
    this.#names += 1;
    return `v${this.#names}`;
  }
}
