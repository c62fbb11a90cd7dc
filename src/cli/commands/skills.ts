// `a2e skills`: make, list, run and test them.
import { type Command, InvalidArgumentError, Option } from "commander";
import { type SkillStatus, skillStatuses } from "../../caps/skill/protocol.ts";
import { parseSeconds } from "../arguments/seconds.ts";
import { examples } from "../help-text.ts";
import { addHostOptions } from "../hosting/host-link.ts";
import type { ListOptions } from "../skills/list-skills.ts";
import type { NewSkillOptions } from "../skills/new-skill.ts";
import type { RunOptions } from "../skills/run-skill.ts";
import { skillKinds } from "../skills/skill-template.ts";
import type { Terminal } from "../terminal.ts";

export function define(command: Command, terminal: Terminal): void {
  command
    .enablePositionalOptions()
    .addHelpText(
      "after",
      `
Skills are folders with a SKILL.md, in the open Agent Skills format. A host looks for them in skills and .agents/skills of
the project, then in ~/.a2e/skills and ~/.agents/skills, then among its own: the first that has a name wins.`,
    )
    .addHelpText(
      "after",
      examples([
        "a2e skills new summarise-report --kind python",
        "a2e skills test skills/summarise-report",
        "a2e skills list --tag text",
        'a2e skills run text-statistics --text "one two"',
      ]),
    );
  defineNew(command, terminal);
  defineList(command, terminal);
  defineRun(command, terminal);
  defineTest(command, terminal);
}

function defineNew(command: Command, terminal: Terminal): void {
  command
    .command("new")
    .description("write a skill to start from, with a test that passes")
    .argument("<name>", "lowercase letters, digits and hyphens")
    .addOption(new Option("--kind <kind>", "the kind of skill").choices(skillKinds).default("instructions"))
    .option("--dir <folder>", "the folder in which it is created", "skills")
    .addHelpText("after", examples(["a2e skills new write-notes", "a2e skills new count-words --kind javascript"]))
    .action(async (name: string, options: NewSkillOptions) => {
      const { makeSkill } = await import("../skills/new-skill.ts");
      await makeSkill(name, options, terminal);
    });
}

function defineList(command: Command, terminal: Terminal): void {
  addHostOptions(command.command("list").description("list the skills of a host"))
    .option("--tag <tag>", "only skills with this tag, or another that is given", collect)
    .option("--category <category>", "only skills of this category, or another that is given", collect)
    .option("--status <status>", "only skills of this status, or another that is given", collectStatus)
    .option("--all", "include archived skills")
    .option("--versions", "every version, instead of the version that a call uses")
    .option("--json", "print the definitions as JSON")
    .addHelpText("after", examples(["a2e skills list", "a2e skills list --tag data --json"]))
    .action(async (options: ListOptions) => {
      const { listSkills } = await import("../skills/list-skills.ts");
      await listSkills(options, terminal);
    });
}

function defineRun(command: Command, terminal: Terminal): void {
  addHostOptions(
    command
      .command("run")
      .description("call a skill of a host: print its instructions, or the result of its script")
      .argument("<skill>", "its name, or name@version")
      .argument("[arguments...]", "those of the skill, as --name value; after the skill"),
  )
    .option("--json-args <object>", "arguments as a JSON object; @file reads it from a file, @- from stdin")
    .option("--timeout <seconds>", "how long it may take", parseSeconds)
    .option("--llm <text>", "the answer if it asks for a completion")
    .option("--json", "print the whole result as JSON")
    .passThroughOptions()
    .allowUnknownOption()
    .addHelpText(
      "after",
      examples([
        "a2e skills run plan-research --topic tides",
        "a2e skills run csv-summary --csv @people.csv",
        'a2e skills run --json --json-args \'{"text": "one two"}\' text-statistics@1.0.0',
        "a2e skills run csv-summary --help",
      ]),
    )
    .action(async (name: string, words: string[], options: RunOptions) => {
      const { runSkill } = await import("../skills/run-skill.ts");
      await runSkill(name, words, options, terminal);
    });
}

function defineTest(command: Command, terminal: Terminal): void {
  command
    .command("test")
    .description("check folders of skills, and run the cases in their tests folders")
    .argument("[folders...]", "of skills (default: those in skills and .agents/skills)")
    .addHelpText(
      "after",
      `
A case is a file tests/<name>.json in the folder of the skill, with any of: arguments, expect (what the data must have),
contains (texts that must be in it), error (the code that must come), llm (answers of the agent's model, in order).`,
    )
    .addHelpText("after", examples(["a2e skills test", "a2e skills test skills/count-words"]))
    .action(async (folders: string[]) => {
      const { testSkills } = await import("../skills/test-skills.ts");
      await testSkills(folders, terminal);
    });
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

function collectStatus(value: string, before: SkillStatus[] = []): SkillStatus[] {
  const status = skillStatuses.find((one) => one.toLowerCase() === value.toLowerCase());
  if (status === undefined) throw new InvalidArgumentError(`expected one of ${skillStatuses.join(", ")}`);
  return [...before, status];
}
