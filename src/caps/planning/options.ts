// The options of the planning plugin, spelled as in a config file.
import * as z from "zod";
import { explainIssue } from "../../host/config/issues.ts";
import { ConfigError, type ConfigPath, type ConfigProblem, renderPath } from "../../host/config/problem.ts";
import { nearest } from "../../protocol/nearest.ts";
import { findRepeated } from "./columns.ts";
import { planningLimits } from "./limits.ts";
import { columnList } from "./protocol.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Whether plans are seen by every agent of the host where their creator does not say. */
  shared: z.boolean().default(false),
  /** Columns of plans that are created without any. */
  columns: columnList
    .min(1)
    .refine((columns) => findRepeated(columns) === undefined, "expected every column once")
    .default(["backlog", "todo", "in_progress", "done"]),
  lease_seconds: z.number().min(1).default(planningLimits.leaseSeconds),
  max_lease_seconds: z.number().min(1).default(planningLimits.maxLeaseSeconds),
  /** Plans of one agent. */
  max_plans: z.int().min(1).default(planningLimits.maxPlans),
  /** Tasks of one plan. */
  max_tasks: z.int().min(1).default(planningLimits.maxTasks),
  /** Changes remembered per task. */
  max_history: z.int().min(0).default(planningLimits.maxHistory),
  // What every entry of a config has; the host acts on it.
  name: z.string().optional(),
  type: z.string().optional(),
  enabled: z.boolean().optional(),
  base_dir: z.string().optional(),
  priority: z.number().optional(),
  exclusive: z.boolean().default(true),
});

export type PlanningOptions = z.input<typeof optionsSchema>;
export type ParsedPlanningOptions = z.output<typeof optionsSchema>;

/** Throws a ConfigError that names each bad key and the nearest valid one. */
export function parsePlanningOptions(options: unknown): ParsedPlanningOptions {
  const parsed = optionsSchema.safeParse(options);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue, options));
  throw new ConfigError(problems, "options of the planning plugin");
}

function toProblems(issue: z.core.$ZodIssue, options: unknown): ConfigProblem[] {
  const path = issue.path as ConfigPath;
  if (issue.code !== "unrecognized_keys")
    return [{ path: renderPath(path), ...explainIssue(issue, valueAt(options, path), false) }];
  return issue.keys.map((key) => {
    const suggestion = nearest(key, Object.keys(optionsSchema.shape));
    const problem = { path: renderPath([...path, key]), message: "unknown key" };
    return suggestion === undefined ? problem : { ...problem, suggestion };
  });
}

function valueAt(value: unknown, path: ConfigPath): unknown {
  return path.reduce<unknown>((inner, step) => (inner as Record<string | number, unknown> | undefined)?.[step], value);
}
