// `a2e init`: a config file with every setting in it, explained.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { renderConfigTemplate } from "../../config/template.ts";
import { messageOf } from "../../protocol/errors.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { configFileName } from "../hosting/config-options.ts";
import type { Terminal } from "../terminal.ts";

interface InitOptions {
  force?: boolean;
  stdout?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  command
    .argument("[file]", "the file to write", configFileName)
    .option("-f, --force", "replace a file that is there")
    .option("--stdout", "print it instead of writing a file")
    .addHelpText("after", examples(["a2e init", "a2e init hosts/lab.yaml", "a2e init --stdout | less"]))
    .action((file: string, options: InitOptions) => init(file, options, terminal));
}

async function init(file: string, { force = false, stdout = false }: InitOptions, terminal: Terminal): Promise<void> {
  const text = renderConfigTemplate();
  if (stdout) return terminal.print(text.trimEnd());
  const path = resolve(terminal.cwd, file);
  try {
    await mkdir(dirname(path), { recursive: true });
    // Only its owner reads it: a token may be put there.
    await writeFile(path, text, { flag: force ? "w" : "wx", mode: 0o600 });
  } catch (cause) {
    const isThere = (cause as NodeJS.ErrnoException).code === "EEXIST";
    throw new CliError(isThere ? `${file} is there already` : `${file} cannot be written: ${messageOf(cause)}`, {
      cause,
      ...(isThere ? { hint: "--force replaces it; --stdout prints the config instead." } : {}),
    });
  }
  const option = file === configFileName ? "" : ` --config ${file}`;
  terminal.note(`Wrote ${file}. Every setting in it is off and shows its default.`);
  terminal.note(`Start a host with it: ${terminal.program} serve${option}`);
}
