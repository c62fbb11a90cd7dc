// Checks the options of a plugin against its schema and describes every problem for their author.
import { z } from "zod";
import { nearest } from "../nearest.ts";
import { valueAt } from "../validation/value-at.ts";
import { explainIssue } from "./issues.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, isSecretPath, renderPath } from "./problem.ts";
import { fromText } from "./text-values.ts";

/** Fields of every plugin entry in a config that the host handles itself; a plugin accepts them among its options. */
export const pluginEntryFields = {
  name: z.string().optional(),
  type: z.string().optional(),
  enabled: z.boolean().optional(),
  priority: z.number().optional(),
  exclusive: z.boolean().default(true),
  base_dir: z
    .string()
    .default(".")
    .describe("The folder that relative paths start from; by default the folder of the config file."),
};

/** Throws a ConfigError that names each bad key and the nearest valid one. */
export function parsePluginOptions<Schema extends z.ZodObject>(
  schema: Schema,
  options: unknown,
  source: string,
): z.output<Schema> {
  let parsed = schema.safeParse(options);
  if (!parsed.success) parsed = schema.safeParse(parsed.error.issues.reduce(readText, options));
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.flatMap((issue) => toProblems(issue, options, schema)),
    source,
  );
}

/**
 * The options with one more text converted to the expected number or boolean. Other options may be objects of a
 * program and are not copied.
 */
function readText(options: unknown, issue: z.core.$ZodIssue): unknown {
  const expected = issue.code === "invalid_type" ? kinds[issue.expected] : undefined;
  const steps = issue.path as ConfigPath;
  const value = valueAt(options, steps);
  return expected === undefined || typeof value !== "string"
    ? options
    : withValue(options, steps, fromText(expected, value));
}

const kinds: Readonly<Record<string, "number" | "boolean">> = { number: "number", int: "number", boolean: "boolean" };

function withValue(options: unknown, [step, ...rest]: ConfigPath, value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(options))
    return options.map((item, index) => (index === step ? withValue(item, rest, value) : item));
  const section = options as Record<string | number, unknown>;
  return { ...section, [step]: withValue(section[step], rest, value) };
}

function toProblems(issue: z.core.$ZodIssue, options: unknown, schema: z.ZodObject): ConfigProblem[] {
  const closest = issue.code === "invalid_union" ? closestBranch(issue.errors) : [];
  if (closest.length > 0)
    return closest.flatMap((inner) => toProblems({ ...inner, path: [...issue.path, ...inner.path] }, options, schema));
  const steps = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  if (issue.code !== "unrecognized_keys")
    return [{ path: renderPath(steps), ...explainIssue(issue, valueAt(options, steps), isSecretPath(steps)) }];
  const known = keysAt(schema, steps);
  return issue.keys.map((key) => {
    const suggestion = nearest(key, known);
    const problem = { path: renderPath([...steps, key]), message: "is not an option here" };
    return suggestion === undefined ? problem : { ...problem, suggestion };
  });
}

/**
 * Of several forms that a value may have, the form that was probably meant: its issues are inside the value, not at
 * its top.
 */
function closestBranch(branches: readonly z.core.$ZodIssue[][]): readonly z.core.$ZodIssue[] {
  return branches.find((issues) => issues.length > 0 && issues.every(({ path }) => path.length > 0)) ?? [];
}

/** The keys that an object at this path may have; empty if the schema does not list them. */
function keysAt(schema: z.ZodType, steps: ConfigPath): string[] {
  let place: z.ZodType | undefined = schema;
  for (const step of steps) place = childOf(unwrap(place), step);
  const object = unwrap(place);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function childOf(schema: z.ZodType | undefined, step: string | number): z.ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[step] as z.ZodType | undefined;
  if (schema instanceof z.ZodRecord) return schema.valueType as z.ZodType;
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : undefined;
}

/** The schema behind defaults and optional wrappers. */
function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  let inner = schema;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault || inner instanceof z.ZodOptional)
    inner = inner.unwrap() as z.ZodType;
  return inner;
}
