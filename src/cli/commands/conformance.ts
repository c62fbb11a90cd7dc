// `a2e conformance`: any host against the requirements of the protocol.
import type { Command } from "commander";
import type { ConformanceResult } from "../../conformance/index.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface ConformanceOptions {
  token?: string;
  filter?: string;
  json?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  command
    .argument("<target>", "the URL of a running host, or a command that starts a host on its stdin and stdout")
    .option("--token <secret>", "token to present (safer: the variable A2E_AUTH_TOKEN)")
    .option("--filter <text>", "only requirements with this in their id or title")
    .option("--json", "print all results as JSON")
    .addHelpText(
      "after",
      examples([
        "a2e conformance http://127.0.0.1:8765",
        'a2e conformance "a2e stdio"',
        "a2e conformance http://127.0.0.1:8765 --filter handshake --json",
      ]),
    )
    .action((target: string, options: ConformanceOptions) => score(target, options, terminal));
}

async function score(target: string, options: ConformanceOptions, terminal: Terminal): Promise<void> {
  const { runConformance } = await import("../../conformance/index.ts");
  const token = options.token ?? terminal.env.A2E_AUTH_TOKEN;
  let isReached = false;
  const report = await runConformance({
    target,
    ...(token === undefined ? {} : { token }),
    ...(options.filter === undefined ? {} : { filter: options.filter }),
    onResult(result) {
      if (!isReached) checkReachable(result);
      isReached = true;
      if (!options.json) terminal.print(renderResult(result, terminal));
    },
  });
  const { results, score: counts } = report;
  const { passed, failed, skipped } = counts;
  if (options.json) terminal.print(JSON.stringify({ score: counts, results }, null, 2));
  else terminal.print(`\n${passed} passed, ${failed} failed, ${skipped} skipped`);
  // A filter that matches no test proves nothing.
  if (failed > 0 || passed + skipped === 0) terminal.exitCode = exitCodes.failed;
}

/**
 * A host that is not reachable has failed no test. A host that lacks a transport has: by then another transport was
 * tested.
 */
function checkReachable({ status, message = "" }: ConformanceResult): void {
  if (status === "failed" && message.startsWith("the host could not be asked"))
    throw new CliError(message, {
      exitCode: exitCodes.unreachable,
      hint: "Is it running, and is its token in A2E_AUTH_TOKEN?",
    });
}

function renderResult({ id, title, status, transport, message }: ConformanceResult, { style }: Terminal): string {
  const marks = { passed: style.green("passed "), failed: style.red("failed "), skipped: style.yellow("skipped") };
  const line = `${marks[status]} ${id} ${style.dim(`(${transport})`)} ${title}`;
  return message === undefined || message === "" ? line : `${line}\n        ${toPlainLine(message)}`;
}
