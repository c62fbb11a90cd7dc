// The options of the planning plugin, spelled as in a config file.
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { planningLimits } from "./limits.ts";
import { columnList } from "./protocol.ts";
import { findRepeated } from "./storage/columns.ts";

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
  /** What a fork wrote, and private plans of an agent without a name, are kept for this long after they were last open. */
  fork_idle_s: z.int().min(1).default(planningLimits.forkIdleSeconds),
  ...pluginEntryFields,
});

export type PlanningOptions = z.input<typeof optionsSchema>;
export type ParsedPlanningOptions = z.output<typeof optionsSchema>;

export function parsePlanningOptions(options: unknown): ParsedPlanningOptions {
  return parsePluginOptions(optionsSchema, options, "options of the planning plugin");
}
