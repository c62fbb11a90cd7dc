// The options of the planning plugin, spelled as in a config file.
import * as z from "zod";
import { parsePluginOptions, pluginEntryFields } from "../../machinery/options/plugin-options.ts";
import { planningLimits } from "./limits.ts";
import { columnList } from "./protocol.ts";
import { findRepeated } from "./storage/columns.ts";

/** @public The generator writes the reference page from it. */
export const optionsSchema = z.strictObject({
  /** Whether new plans are shared with every agent of the host if the request does not say. */
  shared: z.boolean().default(false),
  /** Columns of plans that are created without columns. */
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
  /** Changes stored per task. */
  max_history: z.int().min(0).default(planningLimits.maxHistory),
  /**
   * Plans of a fork, and private plans of an agent without a name, are deleted this long after their session was last
   * open.
   */
  fork_idle_s: z.int().min(1).default(planningLimits.forkIdleSeconds),
  ...pluginEntryFields,
});

export type PlanningOptions = z.input<typeof optionsSchema>;
export type ParsedPlanningOptions = z.output<typeof optionsSchema>;

export function parsePlanningOptions(options: unknown): ParsedPlanningOptions {
  return parsePluginOptions(optionsSchema, options, "options of the planning plugin");
}
