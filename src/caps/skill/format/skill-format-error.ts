/** The problems of a skill folder, in words for the author of the skill. */
export class SkillFormatError extends Error {
  override readonly name = "SkillFormatError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.problems = problems;
  }
}
