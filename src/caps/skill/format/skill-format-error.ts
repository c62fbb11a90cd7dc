/** What is wrong with a folder, in words for whoever wrote the skill. */
export class SkillFormatError extends Error {
  override readonly name = "SkillFormatError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.problems = problems;
  }
}
