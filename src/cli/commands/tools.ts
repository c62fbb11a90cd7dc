// `a2e tools`: lists the tools of a host.
import type { Command } from "commander";
import { type ToolDefinition, tools } from "../../caps/tools/protocol.ts";
import { examples } from "../help-text.ts";
import { addHostOptions, type HostChoice, linkToHost } from "../hosting/host-link.ts";
import { firstSentence, toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface ToolsOptions extends HostChoice {
  kind?: string;
  tag?: string[];
  all?: boolean;
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  addHostOptions(command.argument("[words...]", "search for these in name, description and tags"))
    .option("--kind <kind>", "only tools of this kind")
    .option("--tag <tag>", "only tools with this tag; may be repeated", (tag, tags: string[] = []) => [...tags, tag])
    .option("--all", "include tools that lists leave out")
    .option("--json", "print the definitions as JSON")
    .addHelpText("after", examples(["a2e tools", "a2e tools file", "a2e tools --tag files --json"]))
    .action((words: string[], options: ToolsOptions) => listTools(words, options, terminal));
}

async function listTools(words: string[], options: ToolsOptions, terminal: Terminal): Promise<void> {
  const link = await linkToHost(options, terminal);
  try {
    const answer = await link.client.use(tools).list({
      query: words.join(" "),
      filter_kind: options.kind ?? "",
      filter_tags: options.tag ?? [],
      include_deferred: options.all ?? false,
    });
    if (options.json) terminal.print(JSON.stringify(answer.tools, null, 2));
    else printTools(answer.tools, terminal);
  } finally {
    await link.close();
  }
}

function printTools(found: readonly ToolDefinition[], { print, note, style, program }: Terminal): void {
  if (found.length === 0) return note("No tools.");
  const width = Math.max(...found.map(({ name }) => name.length));
  for (const { name, description } of found) {
    print(`${style.bold(toPlainLine(name).padEnd(width))}  ${toPlainLine(firstSentence(description))}`);
  }
  note(`\n\`${program} call <tool> --help\` shows the arguments of a tool.`);
}
