// Checks arguments against a zod schema, with the same error texts as for JSON Schemas.
import { z } from "zod";
import type { Checked } from "../../../machinery/validation/json-schema.ts";
import {
  describeFound,
  describeValues,
  maxProblems,
  toPath,
  unknownProperty,
} from "../../../machinery/validation/problem-text.ts";
import { valueAt } from "../../../machinery/validation/value-at.ts";
import type { ToolProblem } from "../../../plugin/tool-catalogue.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { createFastParser } from "../../../protocol/table/fast-parse.ts";

type Issue = z.core.$ZodIssue;

/**
 * Rejects unknown keys unless the schema says otherwise, so that a misspelled optional argument is not silently
 * ignored.
 */
export function withoutUnknownKeys<Schema extends z.ZodObject>(schema: Schema): Schema {
  return schema.def.catchall === undefined ? (schema.strict() as unknown as Schema) : schema;
}

export function toInputSchema(schema: z.ZodType): JsonObject {
  const { $schema: _draft, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest as JsonObject;
}

export function createZodCheck(schema: z.ZodObject): (args: JsonObject) => Checked {
  const parseFast = createFastParser(schema);
  return (args) => {
    const value = parseFast(args) as JsonObject | undefined;
    if (value !== undefined) return { value };
    const parsed = schema.safeParse(args);
    if (parsed.success) return { value: parsed.data as JsonObject };
    return { problems: issuesToProblems(parsed.error.issues, schema, args) };
  };
}

/** Also for other strict objects, such as a plugin's options. */
function issuesToProblems(issues: readonly Issue[], schema: z.ZodType, input: unknown): ToolProblem[] {
  return issues.flatMap((issue) => toProblems(issue, schema, input)).slice(0, maxProblems);
}

function toProblems(issue: Issue, schema: z.ZodType, input: unknown): ToolProblem[] {
  const path = toPath(issue.path);
  const value = valueAt(input, issue.path);
  const found = `found ${describeFound(value)}`;
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, issue.path);
      return issue.keys.slice(0, maxProblems).map((key) => ({ path, message: unknownProperty(key, known) }));
    }
    case "invalid_type": {
      const parent = toPath(issue.path.slice(0, -1));
      const name = issue.path.at(-1);
      if (value === undefined && typeof name === "string") {
        return [{ path: parent, message: `property "${name}" (${issue.expected}) is required and missing` }];
      }
      return [{ path, message: `expected ${issue.expected}, ${found}` }];
    }
    case "invalid_value":
      return [{ path, message: `expected ${describeValues(issue.values)}, ${found}` }];
    case "invalid_union":
      return [{ path, message: `${describeBranches(issue.errors)}, ${found}` }];
    default:
      return [{ path, message: `${lowerFirst(issue.message)}, ${found}` }];
  }
}

function describeBranches(branches: readonly (readonly Issue[])[]): string {
  const texts = branches.map((issues) =>
    issues
      .map((issue) => {
        const place = issue.path.length === 0 ? "" : `${toPath(issue.path)}: `;
        return `${place}${issue.code === "invalid_type" ? `expected ${issue.expected}` : lowerFirst(issue.message)}`;
      })
      .join(" and "),
  );
  return texts.length === 0 ? "matches no alternative" : [...new Set(texts)].join(", or ");
}

/** The properties of an object schema at a path, also inside of wrappers such as optional and default. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const segment of [...path, undefined]) {
    while (isWrapper(current)) current = current.def.innerType;
    if (segment === undefined) break;
    if (current instanceof z.ZodArray) current = current.element;
    else if (current instanceof z.ZodObject) current = current.shape[String(segment)];
    else return [];
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : [];
}

function isWrapper(schema: unknown): schema is { def: { innerType: unknown } } {
  return schema instanceof z.ZodType && "innerType" in schema.def;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
