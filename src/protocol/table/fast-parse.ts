// A fast path for valid values. Zod defines which values are valid and words every error; for the many messages that
// are valid, a function generated once per schema creates the same copy several times faster. It handles the plain
// schema types, leaves others to Zod field by field, and returns nothing for a value it does not accept, so that Zod
// decides.
import type { z } from "zod";
import { copyJson, jsonObject, jsonValue } from "../json.ts";

/** Returned by the generated function instead of a value. */
const refused = Symbol("refused");

type Parser = (value: unknown) => unknown;

/** A parser for the schema: returns the value that Zod would return, or undefined if Zod must decide. */
export function createFastParser(schema: z.ZodType): Parser {
  try {
    const writer = new ParserWriter();
    const body = writer.value(schema, "input", "output");
    const create = new Function(
      "refused",
      "copyJson",
      "schemas",
      `return (input) => { let output; ${body} return output; }`,
    );
    const parse = create(refused, copyJson, writer.schemas.map(toLeaf)) as Parser;
    return (value) => {
      const result = parse(value);
      return result === refused ? undefined : result;
    };
  } catch {
    // A page whose security policy forbids generated code: Zod alone is right, only slower.
    return () => undefined;
  }
}

function toLeaf(schema: z.ZodType): Parser {
  return (value) => {
    const parsed = schema.safeParse(value);
    return parsed.success ? parsed.data : refused;
  };
}

interface Definition {
  type: string;
  checks?: unknown[];
  format?: string;
  innerType?: z.ZodType;
  element?: z.ZodType;
  shape?: Record<string, z.ZodType>;
  catchall?: unknown;
  defaultValue?: unknown;
}

/**
 * A default as source text. A value that JSON cannot represent, or a function that returns a new value each time, is
 * left to Zod.
 */
function toLiteral(definition: Definition): string | undefined {
  const value = definition.defaultValue;
  const text = JSON.stringify(value);
  const isData = text !== undefined && text === JSON.stringify(definition.defaultValue);
  return isData && typeof JSON.parse(text) === typeof value ? text : undefined;
}

interface Bound {
  check: string;
  value?: unknown;
  inclusive?: boolean;
  minimum?: number;
  maximum?: number;
}

/** The conditions under which a number or text is rejected, beside its type; undefined if only Zod can check it. */
function boundsOf({ type, checks = [] }: Definition, from: string): string | undefined {
  let text = "";
  for (const check of checks) {
    const { check: kind, value, inclusive, minimum, maximum } = (check as { _zod: { def: Bound } })._zod.def;
    if (type === "number" && kind === "greater_than" && Number.isFinite(value))
      text += ` || ${from} ${inclusive ? "<" : "<="} ${value}`;
    else if (type === "number" && kind === "less_than" && Number.isFinite(value))
      text += ` || ${from} ${inclusive ? ">" : ">="} ${value}`;
    else if (type === "string" && kind === "min_length") text += ` || ${from}.length < ${minimum}`;
    else if (type === "string" && kind === "max_length") text += ` || ${from}.length > ${maximum}`;
    else return undefined;
  }
  return text;
}

function isNever(schema: unknown): boolean {
  return (schema as z.ZodType)._zod.def.type === "never";
}

/** A strict object has no other keys. */
function refuseOthers(keys: readonly string[], from: string): string {
  const cases = keys.map((key) => `case ${JSON.stringify(key)}:`).join(" ");
  return ` for (const key in ${from}) switch (key) { ${cases}${keys.length > 0 ? " break;" : ""} default: return refused; }`;
}

/** Writes statements that read an expression and assign to a variable, or return `refused`. */
class ParserWriter {
  readonly schemas: z.ZodType[] = [];
  /** Objects whose code is being generated: a schema that contains itself is left to Zod at that point. */
  readonly #open = new Set<z.ZodType>();
  #names = 0;

  value(schema: z.ZodType, from: string, to: string): string {
    // By definition and not by identity: a described copy is the same.
    if (schema._zod.def === jsonObject._zod.def)
      return `${to} = copyJson(${from}); if (typeof ${to} !== "object" || ${to} === null || Array.isArray(${to})) return refused;`;
    if (schema._zod.def === jsonValue._zod.def)
      return `${to} = copyJson(${from}); if (${to} === undefined) return refused;`;
    const definition = schema._zod.def as unknown as Definition;
    const bounds = boundsOf(definition, from);
    const inner = definition.innerType as z.ZodType;
    switch (bounds === undefined ? "checked" : definition.type) {
      case "string":
      case "boolean":
        if (definition.format !== undefined) break;
        return `if (typeof ${from} !== "${definition.type}"${bounds}) return refused; ${to} = ${from};`;
      case "number":
        if (definition.format !== undefined && definition.format !== "safeint") break;
        return `if (!Number.${definition.format === "safeint" ? "isSafeInteger" : "isFinite"}(${from})${bounds}) return refused; ${to} = ${from};`;
      case "enum": {
        const allowed = Array.from(schema._zod.values ?? [], (value) => `${from} !== ${JSON.stringify(value)}`);
        return `if (${allowed.join(" && ")}) return refused; ${to} = ${from};`;
      }
      case "nullable":
        return `if (${from} === null) ${to} = null; else { ${this.value(inner, from, to)} }`;
      case "optional":
        // A default inside still applies, and an exact optional field rejects undefined.
        if (schema._zod.optin === "defaulted" || schema._zod.traits.has("$ZodExactOptional")) break;
        return `if (${from} !== undefined) { ${this.value(inner, from, to)} }`;
      case "default": {
        const literal = toLiteral(definition);
        if (literal === undefined) break;
        return `if (${from} === undefined) ${to} = ${literal}; else { ${this.value(inner, from, to)} }`;
      }
      case "array":
        return this.#array(definition.element as z.ZodType, from, to);
      case "object":
        if (this.#open.has(schema) || (definition.catchall !== undefined && !isNever(definition.catchall))) break;
        // In generated code this name would set the prototype.
        if (Object.hasOwn(definition.shape ?? {}, "__proto__")) break;
        return (
          this.#object(schema, definition.shape ?? {}, from, to) +
          (definition.catchall === undefined ? "" : refuseOthers(Object.keys(definition.shape ?? {}), from))
        );
    }
    const leaf = this.schemas.push(schema) - 1;
    // Zod treats a missing field differently from an undefined one, so it must decide.
    return `${to} = schemas[${leaf}](${from}); if (${to} === refused || ${to} === undefined) return refused;`;
  }

  #object(object: z.ZodType, shape: Record<string, z.ZodType>, from: string, to: string): string {
    this.#open.add(object);
    const statements: string[] = [];
    const fields: string[] = [];
    const optional: string[] = [];
    for (const [key, schema] of Object.entries(shape)) {
      const read = this.#name();
      const write = this.#name();
      const name = JSON.stringify(key);
      statements.push(`const ${read} = ${from}[${name}]; let ${write}; ${this.value(schema, read, write)}`);
      if ((schema._zod.def as unknown as Definition).type === "optional")
        optional.push(`if (${write} !== undefined) ${to}[${name}] = ${write};`);
      else fields.push(`${name}: ${write}`);
    }
    this.#open.delete(object);
    return `if (typeof ${from} !== "object" || ${from} === null || Array.isArray(${from})) return refused;
      ${statements.join("\n")} ${to} = { ${fields.join(", ")} }; ${optional.join(" ")}`;
  }

  #array(element: z.ZodType, from: string, to: string): string {
    const [index, read, write] = [this.#name(), this.#name(), this.#name()];
    return `if (!Array.isArray(${from})) return refused; ${to} = new Array(${from}.length);
      for (let ${index} = 0; ${index} < ${from}.length; ${index}++) {
        const ${read} = ${from}[${index}]; let ${write}; ${this.value(element, read, write)} ${to}[${index}] = ${write};
      }`;
  }

  #name(): string {
    this.#names += 1;
    return `v${this.#names}`;
  }
}
