// The public subpath `a2e/skill`: the plugin that serves folders of skills, and its table, by which an agent answers
// skills that ask for completions.
export { skillLimits } from "../caps/skill/limits.ts";
export type { SkillOptions } from "../caps/skill/options.ts";
export { skillPlugin } from "../caps/skill/plugin.ts";
export {
  type SkillDefinition,
  type SkillResult,
  type SkillSource,
  type SkillStatus,
  skill,
} from "../caps/skill/protocol.ts";
