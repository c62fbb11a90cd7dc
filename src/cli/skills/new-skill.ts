// `a2e skills new`: a folder that is a skill from the start.
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { skillName } from "../../caps/skill/format/manifest.ts";
import { skillLimits } from "../../caps/skill/limits.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { createSkillFiles, type SkillKind } from "./skill-template.ts";

export interface NewSkillOptions {
  kind: SkillKind;
  dir: string;
}

export async function makeSkill(name: string, { kind, dir }: NewSkillOptions, terminal: Terminal): Promise<void> {
  if (!skillName.test(name) || name.length > skillLimits.maxNameLength)
    throw new CliError(
      `${JSON.stringify(name)} is not a name of a skill: expected lowercase letters, digits and single hyphens, at most ${skillLimits.maxNameLength}`,
      { exitCode: exitCodes.usage },
    );
  const folder = resolve(terminal.cwd, dir, name);
  const shown = relative(terminal.cwd, folder);
  if (existsSync(folder)) throw new CliError(`${shown} is there already`);
  for (const [path, text] of Object.entries(createSkillFiles(name, kind))) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
    terminal.print(join(shown, path));
  }
  terminal.note(`\nEdit ${join(shown, "SKILL.md")}, then try it: ${terminal.program} skills test ${shown}`);
}
