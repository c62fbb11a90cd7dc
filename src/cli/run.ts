// A run of the command line, from arguments to exit code.
import { Command, CommanderError } from "commander";
import { readVersion } from "../compose/version.ts";
import { commands } from "./command-list.ts";
import { exitCodes } from "./exit-codes.ts";
import { reportFailure } from "./failure.ts";
import { examples, renderExitCodes } from "./help-text.ts";
import type { Terminal } from "./terminal.ts";

/** Never rejects: a failure is printed and sets the exit code. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const program = await createProgram(args, terminal);
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: "user" });
    return terminal.exitCode;
  } catch (error) {
    // Commander has printed the message already; it ends help and --version in the same way.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    return reportFailure(error, terminal);
  }
}

async function createProgram(args: readonly string[], terminal: Terminal): Promise<Command> {
  const program = new Command("a2e")
    .description("A2E (Agent-to-Environment) host, client and tools.")
    .version(readVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    // Options of a command come behind its name; `call` hands on those behind the tool's.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
    })
    .addHelpText("after", examples(["a2e serve", "a2e tools", 'a2e call js_eval --code "6 * 7"', "a2e doctor"]))
    .addHelpText("afterAll", renderExitCodes());
  const asked = args.find((arg) => !arg.startsWith("-") && arg !== "help");
  for (const [name, { summary, load }] of Object.entries(commands)) {
    const command = program.command(name).description(summary);
    command.showHelpAfterError(`\`${terminal.program} ${name} --help\` shows how it is used.`);
    if (name === asked) (await load()).define(command, terminal);
  }
  return program.showHelpAfterError(`\`${terminal.program} --help\` lists the commands.`);
}
