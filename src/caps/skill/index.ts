// The public subpath `a2e/skill`: the plugin that serves folders of skills, and its table, by which an agent answers
// skills that ask for completions.
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
