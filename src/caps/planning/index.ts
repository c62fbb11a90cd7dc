// The public subpath `a2e/planning`: the plugin that stores plans and tasks, and its table.
export { planningLimits } from "./limits.ts";
export type { PlanningOptions } from "./options.ts";
export { planningPlugin } from "./plugin.ts";
export { type BoardView, type PlanView, planning, type TaskView } from "./protocol.ts";
