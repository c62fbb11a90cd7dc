// `a2e chain run|validate|draw`: chains from files.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { createExpressionParser } from "../../caps/chains/expressions/expression.ts";
import { chainLimits } from "../../caps/chains/limits.ts";
import { compileChain } from "../../caps/chains/plan/compile.ts";
import type { Plan } from "../../caps/chains/plan/plan.ts";
import { type ChainProblem, chains } from "../../caps/chains/protocol.ts";
import type { A2EClient } from "../../client/client.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { createTextReader, isInputNamed } from "../arguments/input-text.ts";
import { parseSeconds } from "../arguments/seconds.ts";
import { answerApprovals } from "../chain/approvals.ts";
import { type ChainFile, parseChainFile, parseInput } from "../chain/chain-file.ts";
import { withLargeOutputs } from "../chain/chain-outputs.ts";
import { drawChain, type NodeTiming } from "../chain/drawing/draw-chain.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { addHostOptions, type HostChoice, linkToHost } from "../hosting/host-link.ts";
import { toPlainLine, toPlainText } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface RunOptions extends HostChoice {
  input?: string;
  timeout?: number;
  yes?: boolean;
  json?: boolean;
}

interface DrawOptions extends RunOptions {
  output?: string;
  run?: boolean;
}

type RunResult = Awaited<ReturnType<ReturnType<typeof apiOf>["run"]>>;

const capabilities = ["chains", "tools", "skill", "proc"];
const fileHelp = "JSON or YAML: a chain, or its list of nodes";

export function define(command: Command, terminal: Terminal): void {
  addRunOptions(command.command("run").description("run a chain").argument("<file>", fileHelp))
    .option("--json", "print the whole result as JSON")
    .action((file: string, options: RunOptions) => runChain(file, options, terminal));
  addHostOptions(command.command("validate").description("list the problems of a chain").argument("<file>", fileHelp))
    .option("--input <object>", "initial input as JSON; @file reads it from a file")
    .option("--json", "print the answer as JSON")
    .action((file: string, options: RunOptions) => validateChain(file, options, terminal));
  addRunOptions(command.command("draw").description("draw a chain as SVG").argument("<file>", fileHelp))
    .option("-o, --output <file>", "the file to write (default: standard output)")
    .option("--run", "run it first, and show the time and outcome of each node")
    .action((file: string, options: DrawOptions) => draw(file, options, terminal));
  command.addHelpText(
    "after",
    examples([
      "a2e chain validate release.yaml",
      'a2e chain run release.yaml --input \'{"version": "1.2.0"}\'',
      "a2e chain draw release.yaml --run -o release.svg",
    ]),
  );
}

function addRunOptions(command: Command): Command {
  return addHostOptions(command)
    .option("--input <object>", "initial input as JSON; @file reads it from a file")
    .option("--timeout <seconds>", "how long the chain may take", parseSeconds)
    .option("-y, --yes", "approve everything that the chain asks approval for");
}

function apiOf(client: A2EClient) {
  return client.use(chains);
}

async function readChain(file: string, options: RunOptions, terminal: Terminal): Promise<ChainFile> {
  const readText = await createTextReader(terminal, file === "-" || isInputNamed([options.input]));
  const chain = parseChainFile(() => readText(file), file);
  return options.input === undefined ? chain : { ...chain, initial_input: parseInput(options.input, readText) };
}

async function runChain(file: string, options: RunOptions, terminal: Terminal): Promise<void> {
  const { result } = await runOnHost(await readChain(file, options, terminal), options, terminal);
  if (options.json) terminal.print(JSON.stringify(result, null, 2));
  else {
    printFailure(result, terminal);
    if (result.error === null) terminal.print(toPlainText(toText(result.final_output)));
  }
  if (!result.success) terminal.exitCode = exitCodes.toolFailed;
}

async function validateChain(file: string, options: RunOptions, terminal: Terminal): Promise<void> {
  const { nodes, entry_node, initial_input } = await readChain(file, options, terminal);
  const link = await linkToHost(options, terminal, capabilities);
  try {
    const answer = await apiOf(link.client).validate({ nodes, entry_node, ...(initial_input && { initial_input }) });
    if (options.json) terminal.print(JSON.stringify(answer, null, 2));
    else if (answer.valid) {
      terminal.print(`${nodes.length} nodes in ${answer.levels.length} steps`);
      if (answer.inputs.length > 0) terminal.print(`reads of its initial input: ${answer.inputs.join(", ")}`);
    } else printProblems(answer.problems, terminal);
    if (!answer.valid) terminal.exitCode = exitCodes.failed;
  } finally {
    await link.close();
  }
}

async function draw(file: string, options: DrawOptions, terminal: Terminal): Promise<void> {
  const chain = await readChain(file, options, terminal);
  const plan = compile(chain, terminal);
  const run = options.run ? await runOnHost(chain, options, terminal) : undefined;
  const timings = run?.timings;
  const picture = drawChain(plan, { title: chain.chain_id, ...(timings === undefined ? {} : { timings }) });
  if (options.output === undefined) terminal.print(picture.trimEnd());
  else {
    writeFileSync(resolve(terminal.cwd, options.output), picture);
    terminal.note(`written to ${options.output}`);
  }
  // The picture shows how far the run came; its failure is reported as well.
  if (run === undefined || run.result.success) return;
  printFailure(run.result, terminal);
  terminal.exitCode = exitCodes.toolFailed;
}

function compile({ nodes, entry_node }: ChainFile, terminal: Terminal): Plan {
  const { plan, problems } = compileChain(nodes, entry_node, {
    parse: createExpressionParser(),
    maxNodes: chainLimits.maxNodes,
  });
  if (plan !== undefined) return plan;
  printProblems(problems, terminal);
  throw new CliError("such a chain cannot be drawn", { exitCode: exitCodes.failed });
}

async function runOnHost(
  chain: ChainFile,
  options: RunOptions,
  terminal: Terminal,
): Promise<{ result: RunResult; timings: Map<string, NodeTiming> }> {
  const link = await linkToHost(options, terminal, capabilities);
  const interrupt = new AbortController();
  const forget = terminal.onStop(() => interrupt.abort());
  const timings = new Map<string, NodeTiming>();
  answerApprovals(link.client, options.yes === true, terminal);
  try {
    const result = await apiOf(link.client).run(
      { ...chain, timeout: options.timeout ?? chain.timeout, streaming: true },
      {
        timeoutMs: 0,
        signal: interrupt.signal,
        onEvent: ({ data }) => noteEvent(data, timings, terminal),
      },
    );
    return { result: await withLargeOutputs(result, link.client), timings };
  } finally {
    forget();
    await link.close();
  }
}

const states: Record<string, NodeTiming["state"]> = { done: "done", error: "failed", skip: "skipped" };

function noteEvent(data: Record<string, unknown>, timings: Map<string, NodeTiming>, terminal: Terminal): void {
  const id = String(data.node_id ?? "");
  const phase = String(data.phase ?? "");
  const state = states[phase];
  if (state === undefined) return;
  const durationMs = Number(data.duration_ms ?? 0);
  timings.set(id, { state, durationMs, startedMs: Math.max(0, Number(data.at_ms ?? 0) - durationMs) });
  const mark = { done: "✓", failed: "✗", skipped: "–" }[state];
  const why = state === "failed" ? `: ${String(data.error ?? "")}` : state === "done" ? ` (${durationMs} ms)` : "";
  terminal.note(terminal.noteStyle.dim(toPlainLine(`${mark} ${id}${why}`)));
}

function toText(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function printFailure({ error, failed }: RunResult, terminal: Terminal): void {
  if (error?.problems !== undefined) printProblems(error.problems, terminal);
  else if (error !== null) terminal.note(`${terminal.noteStyle.red("error:")} ${toPlainLine(error.message)}`);
  else if (failed.length > 0) terminal.note(terminal.noteStyle.yellow(`failed: ${toPlainLine(failed.join(", "))}`));
}

function printProblems(problems: readonly ChainProblem[], terminal: Terminal): void {
  for (const { code, message } of problems) terminal.note(`${terminal.noteStyle.red(code)} ${toPlainLine(message)}`);
}
