// `a2e skills list`: lists the skills of a host.
import { type SkillDefinition, type SkillStatus, skill } from "../../caps/skill/protocol.ts";
import { type HostChoice, linkToHost } from "../hosting/host-link.ts";
import { firstSentence, toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

export interface ListOptions extends HostChoice {
  tag?: string[];
  category?: string[];
  status?: SkillStatus[];
  all?: boolean;
  versions?: boolean;
  json?: boolean;
}

export async function listSkills(options: ListOptions, terminal: Terminal): Promise<void> {
  const link = await linkToHost(options, terminal, [skill.name]);
  try {
    const { skills } = await link.client.use(skill).discover({
      filter_tags: options.tag ?? [],
      filter_categories: options.category ?? [],
      filter_status: options.status ?? [],
      include_archived: options.all ?? false,
      include_versions: options.versions ?? false,
    });
    if (options.json) terminal.print(JSON.stringify(skills, null, 2));
    else printSkills(skills, terminal);
  } finally {
    await link.close();
  }
}

function printSkills(skills: readonly SkillDefinition[], { print, note, style, program }: Terminal): void {
  if (skills.length === 0) return note("No skills.");
  const titles = skills.map(({ name, version }) => toPlainLine(`${name}@${version}`));
  const width = Math.max(...titles.map((title) => title.length));
  skills.forEach(({ kind, source, status, description }, index) => {
    const facts = [source, kind, ...(status === "Published" ? [] : [status])].join(", ");
    print(
      `${style.bold((titles[index] ?? "").padEnd(width))}  ${toPlainLine(firstSentence(description))} ${style.dim(`(${facts})`)}`,
    );
  });
  note(`\n\`${program} skills run <skill> --help\` shows the arguments of a skill.`);
}
