// `a2e replay`: does a recorded session still go as it went?
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { replayConfigured } from "../../compose/replay.ts";
import { createLogger, type Logger } from "../../plugin/logger.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { RecordingError } from "../../recording/recording.ts";
import type { Divergence, ReplayReport } from "../../recording/replay-report.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { configFileName, readConfig } from "../hosting/config-options.ts";
import { toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface ReplayCommandOptions {
  config?: string;
  runTools?: boolean;
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  command
    .argument("<recording>", "a file from the recordings folder of a host")
    .option("-c, --config <file>", `config with the plugins to replay with (default: ${configFileName} of this folder)`)
    .option("--run-tools", "run tools again, with all they do, instead of taking their results from the recording")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExits with 0 if every line is the same, 1 if a line differs, 2 if the file is not a recording.",
    )
    .addHelpText(
      "after",
      examples(["a2e replay .a2e/recordings/2026-05-04T10-00-00.000Z-000001-1f0c9a2b3d4e.a2e-recording.ndjson"]),
    )
    .action((path: string, options: ReplayCommandOptions) => replay(path, options, terminal));
}

async function replay(path: string, options: ReplayCommandOptions, terminal: Terminal): Promise<void> {
  const { config } = await readConfig(options, terminal);
  const text = await readRecording(resolve(terminal.cwd, path));
  const report = await replayText(text, path, () =>
    replayConfigured(text, config, { log: createLog(terminal), mustRunTools: options.runTools === true }),
  );
  if (options.json) terminal.print(JSON.stringify(report, null, 2));
  else printReport(report, terminal);
  if (!report.is_identical) terminal.exitCode = exitCodes.failed;
}

/** Only errors of the replayed host are of interest. */
function createLog(terminal: Terminal): Logger {
  return { ...createLogger((line) => terminal.note(line.trimEnd())), info() {} };
}

async function readRecording(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CliError(`cannot read ${path}: ${messageOf(cause)}`, { exitCode: exitCodes.usage, cause });
  }
}

async function replayText(text: string, path: string, run: () => Promise<ReplayReport>): Promise<ReplayReport> {
  try {
    return await run();
  } catch (cause) {
    if (!(cause instanceof RecordingError)) throw cause;
    const hint = text.trim() === "" ? "The file is empty: was its host killed as the session began?" : undefined;
    throw new CliError(`${path}: ${cause.message}`, {
      exitCode: exitCodes.usage,
      cause,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function printReport({ messages, is_identical, cut, divergence }: ReplayReport, terminal: Terminal): void {
  const { print, note, style } = terminal;
  if (cut !== undefined) note(`The recording does not go to the end of its session: ${toPlainLine(cut)}.`);
  const count = `${messages} ${messages === 1 ? "message" : "messages"}`;
  if (is_identical) print(`${style.green("identical")}  ${count} compared`);
  if (divergence === undefined) return;
  print(`${style.red("diverged")}  at message ${divergence.message}, after ${count} that were the same`);
  for (const [name, value] of describe(divergence)) print(`  ${style.dim(name.padEnd(9))}${value}`);
}

function describe({ req_id, request_type, field, expected, found, note }: Divergence): [string, string][] {
  const request = req_id === "" ? "none" : `${request_type} ${req_id}`.trim();
  return [
    ["request", toPlainLine(request)],
    ["field", field === "" ? "the whole message" : toPlainLine(field)],
    ["expected", renderValue(expected)],
    ["found", renderValue(found)],
    ...(note === undefined ? [] : [["note", toPlainLine(note)] as [string, string]]),
  ];
}

const maxShownLength = 400;

function renderValue(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  const text = toPlainLine(JSON.stringify(value));
  return text.length <= maxShownLength ? text : `${text.slice(0, maxShownLength)}… (--json shows all)`;
}
