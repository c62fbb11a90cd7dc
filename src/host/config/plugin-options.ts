// Options of a plugin against its schema, with every problem in words for whoever wrote them.
import type { z } from "zod";
import { nearest } from "../../protocol/nearest.ts";
import { explainIssue } from "./issues.ts";
import { ConfigError, type ConfigProblem, renderPath } from "./problem.ts";

/** Throws a ConfigError that names each bad key and the nearest valid one. */
export function parsePluginOptions<Schema extends z.ZodObject>(
  schema: Schema,
  options: unknown,
  source: string,
): z.output<Schema> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.flatMap((issue) => toProblems(issue, options, schema)),
    source,
  );
}

function toProblems(issue: z.core.$ZodIssue, options: unknown, schema: z.ZodObject): ConfigProblem[] {
  const steps = issue.path.map((step) => (typeof step === "number" ? step : String(step)));
  if (issue.code !== "unrecognized_keys")
    return [{ path: renderPath(steps), ...explainIssue(issue, valueAt(options, steps), false) }];
  const known = steps.length === 0 ? Object.keys(schema.shape) : [];
  return issue.keys.map((key) => {
    const suggestion = nearest(key, known);
    const problem = { path: renderPath([...steps, key]), message: "is no option here" };
    return suggestion === undefined ? problem : { ...problem, suggestion };
  });
}

function valueAt(options: unknown, steps: readonly (string | number)[]): unknown {
  let value = options;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
