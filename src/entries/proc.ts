// The public subpath `a2e/proc`: the plugin that runs programs, and its table.
export { procLimits } from "../caps/proc/limits.ts";
export type { ProcOptions } from "../caps/proc/options.ts";
export { procPlugin } from "../caps/proc/plugin.ts";
export { type ProcStatus, proc } from "../caps/proc/protocol.ts";
