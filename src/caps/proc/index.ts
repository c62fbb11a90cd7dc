// The public subpath `a2e/proc`: the plugin that runs programs, and its table.
export { procLimits } from "./limits.ts";
export type { ProcOptions } from "./options.ts";
export { procPlugin } from "./plugin.ts";
export { type ProcStatus, proc } from "./protocol.ts";
