// `a2e audit verify|prove|check|tail|anchor|key`: the audit log of a host with `audit.mode: proven`.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { linesOf, type Remark } from "../../audit/audit-block.ts";
import { newestBlocks, proveRequest } from "../../audit/prove.ts";
import { TileFolder } from "../../audit/tiles.ts";
import { sha256 } from "../../audit/tree.ts";
import { verifyLog } from "../../audit/verify.ts";
import { openCheckpoint } from "../../proofs/checkpoint-text.ts";
import { checkProof } from "../../proofs/tlog-proof.ts";
import {
  type AuditChoice,
  addAuditOptions,
  addKeyOption,
  findAudit,
  findKey,
  readGivenFile,
  readVerifierKey,
} from "../audit/audit-choice.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { toPlainLine } from "../plain-text.ts";
import type { Terminal } from "../terminal.ts";

interface VerifyOptions extends AuditChoice {
  from?: string[];
}

interface ProveOptions extends AuditChoice {
  session?: string;
  output?: string;
}

interface TailOptions extends AuditChoice {
  lines: number;
}

export function define(command: Command, terminal: Terminal): void {
  const add = (name: string, summary: string) => addAuditOptions(command.command(name).description(summary));
  addKeyOption(add("verify", "hash the whole log again, and name the first damage"))
    .option("--from <file...>", "checkpoints that were kept elsewhere (see anchor)")
    .action((options: VerifyOptions) => verifyAudit(options, terminal));
  addKeyOption(add("prove", "write a proof of what happened to a request").argument("<req_id>", "id of the request"))
    .option("--session <id>", "only in this session, as the log names it")
    .option("-o, --output <file>", "the file to write (default: standard output)")
    .action((id: string, options: ProveOptions) => proveAudit(id, options, terminal));
  addKeyOption(
    command.command("check").description("check a proof; needs no host and no data"),
    "verifier key, or a file with it",
  )
    .argument("<file>", "the proof")
    .option("--json", "print the result as JSON")
    .action((file: string, options: AuditChoice) => checkAudit(file, options, terminal));
  add("tail", "print the newest lines of the log")
    .option("-n, --lines <count>", "how many", parseLines, 20)
    .action((options: TailOptions) => tailAudit(options, terminal));
  add("anchor", "print the newest checkpoint, to be kept where the host cannot change it").action(
    (options: AuditChoice) => anchorAudit(options, terminal),
  );
  add("key", "print the key with which others verify the log").action((options: AuditChoice) =>
    printKey(options, terminal),
  );
  command.addHelpText(
    "after",
    examples([
      "a2e audit anchor > monday.checkpoint",
      "a2e audit verify --from monday.checkpoint",
      "a2e audit prove 0b6f7a2c -o call.tlog-proof",
      "a2e audit check call.tlog-proof --key a2e/host+c74f20a3+ARpc…",
    ]),
  );
}

function parseLines(text: string): number {
  const lines = Number(text);
  if (Number.isSafeInteger(lines) && lines > 0) return lines;
  throw new InvalidArgumentError("expected a number from 1 on");
}

async function verifyAudit(options: VerifyOptions, terminal: Terminal): Promise<void> {
  const anchors = (options.from ?? []).map((file) => readGivenFile(file, terminal));
  const { folder } = await findAudit(options, terminal);
  const { verify } = await findKey(options, terminal);
  const report = verifyLog(folder, verify, anchors);
  if (report.damage !== undefined) terminal.exitCode = exitCodes.failed;
  if (options.json) return terminal.print(JSON.stringify(report, null, 2));
  for (const remark of report.remarks) terminal.note(describeRemark(remark));
  const { size, lines, minimum, damage, anchoredAt } = report;
  const pruned = minimum === 0 ? "" : `; entries below ${minimum} were pruned`;
  if (damage !== undefined) {
    const place = damage.index === undefined ? "" : ` at entry ${damage.index}`;
    const time = damage.time === undefined ? "" : ` (after ${new Date(damage.time).toISOString()})`;
    terminal.print(`${terminal.style.red("damaged")}${place}${time}: ${toPlainLine(damage.what)}`);
    return;
  }
  terminal.print(`${terminal.style.green("verified")}: ${size} entries, ${lines} lines${pruned}`);
  terminal.print(
    anchoredAt === undefined
      ? "not anchored: without a checkpoint from elsewhere (--from), missing newest entries cannot be detected"
      : `anchored: it continues the given checkpoint of ${anchoredAt} entries`,
  );
}

function describeRemark(remark: Remark): string {
  const time = new Date(remark.ts * 1000).toISOString();
  switch (remark.audit) {
    case "began":
      return `${time} the log began${remark.previous === undefined ? "" : `, after another log of ${remark.previous} entries`}`;
    case "lost":
      return `${time} entries ${remark.from} to ${remark.to - 1} tell of turns that a power cut has undone`;
    case "pruned":
      return `${time} entries below ${remark.minimum} were pruned`;
  }
}

async function proveAudit(id: string, options: ProveOptions, terminal: Terminal): Promise<void> {
  const { folder } = await findAudit(options, terminal);
  const { verify } = await findKey(options, terminal);
  const isMatch = (line: Record<string, unknown>) =>
    options.session === undefined || line.session === options.session || line.session_id === options.session;
  const proven = proveRequest(folder, verify, id, isMatch);
  if (proven === undefined)
    throw new CliError(`the log has no entry of a request ${JSON.stringify(id)}`, {
      hint: "An entry can be proven after the next checkpoint, about a second later, and until it is pruned.",
    });
  const text = options.json ? JSON.stringify(proven, null, 2) : proven.proof;
  if (options.output === undefined) return terminal.print(text.trimEnd());
  writeFileSync(resolve(terminal.cwd, options.output), text);
  terminal.note(`${options.output} proves entry ${proven.index}: ${toPlainLine(proven.line)}`);
}

function checkAudit(file: string, { key, json }: AuditChoice, terminal: Terminal): void {
  if (key === undefined)
    throw new CliError("check needs the key of the log", {
      exitCode: exitCodes.usage,
      hint: "--key takes what `a2e audit key` prints on the host.",
    });
  const { verify } = readVerifierKey(key, terminal);
  const checked = checkProof(readGivenFile(file, terminal), sha256, verify);
  if (!checked.isValid) {
    if (json) terminal.print(JSON.stringify(checked, null, 2));
    throw new CliError(`the proof is not valid: ${checked.reason}`);
  }
  const { index, checkpoint } = checked;
  const lines = linesOf(checked.entry);
  const { origin, size } = checkpoint;
  if (json) return terminal.print(JSON.stringify({ isValid: true, origin, size, index, lines }, null, 2));
  terminal.note(`valid: entry ${index} of ${toPlainLine(origin)}, which had ${size} entries`);
  for (const line of lines) terminal.print(toPlainLine(line));
}

async function tailAudit(options: TailOptions, terminal: Terminal): Promise<void> {
  const { folder } = await findAudit(options, terminal);
  const tiles = new TileFolder(folder);
  const { size } = await readCheckpoint(options, terminal);
  const lines: string[] = [];
  for (const { entry } of newestBlocks(tiles, size)) {
    lines.unshift(...linesOf(entry));
    if (lines.length >= options.lines) break;
  }
  const newest = lines.slice(-options.lines);
  if (options.json)
    terminal.print(
      JSON.stringify(
        newest.map((line) => JSON.parse(line)),
        null,
        2,
      ),
    );
  else for (const line of newest) terminal.print(toPlainLine(line));
}

async function anchorAudit(options: AuditChoice, terminal: Terminal): Promise<void> {
  const { note, size } = await readCheckpoint(options, terminal);
  terminal.print(options.json ? JSON.stringify({ size, checkpoint: note }, null, 2) : note.trimEnd());
}

/** The newest checkpoint, if it is signed with the key of this host. */
async function readCheckpoint(options: AuditChoice, terminal: Terminal): Promise<{ note: string; size: number }> {
  const { folder } = await findAudit(options, terminal);
  const { verify } = await findKey(options, terminal);
  const note = new TileFolder(folder).readCheckpoint();
  const checkpoint = note === undefined ? undefined : openCheckpoint(note, verify);
  if (note !== undefined && checkpoint !== undefined) return { note, size: checkpoint.size };
  throw new CliError(
    note === undefined ? `${folder} has no checkpoint yet` : `the checkpoint in ${folder} is not signed with the key`,
  );
}

async function printKey(options: AuditChoice, terminal: Terminal): Promise<void> {
  const { text } = await findKey(options, terminal);
  terminal.print(options.json ? JSON.stringify({ key: text }) : text);
}
