// The public subpath `a2e/skill`: the plugin that serves folders of skills, and its table, which an agent needs to
// answer completion requests of skills.
export { skillLimits } from "./limits.ts";
export type { SkillOptions } from "./options.ts";
export { skillPlugin } from "./plugin.ts";
export {
  type SkillDefinition,
  type SkillResult,
  type SkillSource,
  type SkillStatus,
  skill,
} from "./protocol.ts";
