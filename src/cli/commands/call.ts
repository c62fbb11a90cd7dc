// `a2e call`: calls a tool once.
import type { Command } from "commander";
import { type ToolDefinition, type ToolResult, tools } from "../../caps/tools/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import { A2EClientError } from "../../client/errors.ts";
import { nearest } from "../../machinery/nearest.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { renderCallEvent } from "../arguments/call-event-text.ts";
import { parseFlags } from "../arguments/flags.ts";
import { createTextReader, isInputNamed } from "../arguments/input-text.ts";
import { takeOwnFlags } from "../arguments/own-flags.ts";
import { parseSeconds } from "../arguments/seconds.ts";
import { parseJsonArguments, toArguments } from "../arguments/tool-arguments.ts";
import { renderToolUsage } from "../arguments/tool-usage.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { addHostOptions, type HostChoice, linkToHost } from "../hosting/host-link.ts";
import { toPlainText } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface CallCommandOptions extends HostChoice {
  jsonArgs?: string;
  timeout?: number;
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  addHostOptions(
    command
      .argument("<tool>", "its name")
      .argument("[arguments...]", "those of the tool, as --name value; after the tool"),
  )
    .option("--json-args <object>", "arguments as a JSON object; @file reads it from a file, @- from stdin")
    .option("--timeout <seconds>", "how long the tool may take", parseSeconds)
    .option("--json", "print the whole result as JSON")
    .passThroughOptions()
    .allowUnknownOption()
    .addHelpText(
      "after",
      `
Options of a2e come before the tool, arguments of the tool after it. Their values are read as the tool's schema wants
them: numbers, switches (--recursive, --no-recursive), lists (repeat the argument, or give a JSON array), objects as
JSON. @file stands for the text in a file, @- for standard input, @@ for a text that begins with @.`,
    )
    .addHelpText(
      "after",
      examples([
        'a2e call js_eval --code "6 * 7"',
        "a2e call write_file --path notes.txt --content @notes.txt",
        "a2e call --url http://127.0.0.1:9001 http_get --url https://example.com",
        'a2e call --json --json-args \'{"path": "."}\' list_dir',
        "a2e call grep --help",
      ]),
    )
    .action((name: string, words: string[], options: CallCommandOptions) => call(name, words, options, terminal));
}

async function call(name: string, words: string[], options: CallCommandOptions, terminal: Terminal): Promise<void> {
  const stray: string[] = [];
  const flags = parseFlags(words, (word) => stray.push(word));
  if (stray.length > 0) throw usage(`${JSON.stringify(stray[0])} belongs to no argument: write --name value`);
  const readText = await createTextReader(
    terminal,
    isInputNamed([options.jsonArgs, ...flags.map(({ value }) => value)]),
  );
  const link = await linkToHost(options, terminal);
  try {
    const tool = await findTool(link.client, name);
    const { own, misplaced } = takeOwnFlags(flags, { ...tool, kind: "tool" });
    if (misplaced.help) return terminal.print(renderToolUsage(tool, terminal.program));
    const settings = { ...options, ...misplaced };
    const args = {
      ...parseJsonArguments(settings.jsonArgs, readText),
      ...toArguments(own, tool.input_schema, readText),
    };
    printResult(await run(link.client, tool.name, args, settings, terminal), settings, terminal);
  } finally {
    await link.close();
  }
}

async function findTool(client: A2EClient, name: string): Promise<ToolDefinition> {
  const { tools: known } = await client.use(tools).list({ include_deferred: true });
  const found = known.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const names = known.map((tool) => tool.name);
  const near = nearest(name, names);
  throw usage(
    `there is no tool "${name}"${near === undefined ? "" : `; did you mean ${near}?`}`,
    `Tools: ${names.join(", ") || "none"}`,
  );
}

async function run(
  client: A2EClient,
  tool_name: string,
  args: JsonObject,
  { timeout, json }: CallCommandOptions,
  terminal: Terminal,
): Promise<ToolResult> {
  const interrupt = new AbortController();
  const forget = terminal.onStop(() => interrupt.abort());
  try {
    const answer = await client.use(tools).call(
      { tool_name, arguments: args, streaming: true, timeout: timeout ?? 0 },
      {
        // The host enforces the timeout; this is for a host that does not answer at all.
        timeoutMs: timeout === undefined ? 0 : timeout * 1000 + 5_000,
        signal: interrupt.signal,
        onEvent: (event) => terminal.note(terminal.noteStyle.dim(renderCallEvent(event))),
      },
    );
    return answer.data;
  } catch (error) {
    if (json && error instanceof A2EClientError) {
      const { code, message, detail, retryable } = error;
      terminal.print(
        JSON.stringify({ success: false, tool_name, error: message, error_code: code, retryable, detail }, null, 2),
      );
    }
    throw error;
  } finally {
    forget();
  }
}

function printResult(result: ToolResult, { json }: CallCommandOptions, terminal: Terminal): void {
  if (!result.success) terminal.exitCode = exitCodes.toolFailed;
  if (json) return terminal.print(JSON.stringify(result, null, 2));
  const { data, summary, error } = result;
  const text = typeof data === "string" ? data : JSON.stringify(data, null, 2);
  const isSeen = (terminal.output as { isTTY?: boolean }).isTTY === true;
  if (data !== null || result.success) terminal.print(isSeen ? toPlainText(text) : text);
  if (typeof summary === "string" && summary !== "") terminal.note(terminal.noteStyle.dim(toPlainText(summary)));
  if (result.truncated)
    terminal.note(terminal.noteStyle.yellow("The result was cut: it is larger than the host sends."));
  if (!result.success) terminal.note(`${terminal.noteStyle.red("error:")} ${toPlainText(error ?? "the tool failed")}`);
}

function usage(message: string, hint?: string): CliError {
  return new CliError(message, { exitCode: exitCodes.usage, ...(hint === undefined ? {} : { hint }) });
}
