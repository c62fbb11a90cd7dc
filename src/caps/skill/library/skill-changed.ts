/** The folder of a skill is no longer what it was when its SKILL.md was read: whoever uses it begins anew. */
export class SkillChanged extends Error {
  override readonly name = "SkillChanged";
}
