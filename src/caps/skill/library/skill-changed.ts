/** The folder of a skill has changed since its SKILL.md was read; the caller must read it again. */
export class SkillChanged extends Error {
  override readonly name = "SkillChanged";
}
