// The log and the key that a command of `a2e audit` is about.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { readAuditKey } from "../../audit/key-file.ts";
import { parseVerifierKey } from "../../audit/note-key.ts";
import { provenAuditPaths } from "../../compose/open-audit.ts";
import type { VerifySignature } from "../../proofs/note.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { configFileName, readConfig } from "../hosting/config-options.ts";
import type { Terminal } from "../terminal.ts";

export interface AuditChoice {
  config?: string;
  dataDir?: string;
  key?: string;
  json?: boolean;
}

export function addAuditOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", `config file; without it ${configFileName} of this folder, if it exists`)
    .option("--data-dir <folder>", "data folder of the host (default: .a2e)")
    .option("--json", "print the result as JSON");
}

export function addKeyOption(
  command: Command,
  text = "verifier key, or a file with it (default: the host's own)",
): Command {
  return command.option("--key <key>", text);
}

/** The folder of the log, and the file of its secret key. */
export async function findAudit(choice: AuditChoice, terminal: Terminal): Promise<{ folder: string; key: string }> {
  const { config } = await readConfig(choice, terminal);
  return provenAuditPaths(config.data_dir);
}

/** The key to verify with. The host's own key file has it; an auditor names the key that was published. */
export async function findKey(
  choice: AuditChoice,
  terminal: Terminal,
): Promise<{ verify: VerifySignature; text: string }> {
  if (choice.key !== undefined) return readVerifierKey(choice.key, terminal);
  const { key } = await findAudit(choice, terminal);
  const signer = readAuditKey(key);
  if (signer !== undefined) return { verify: signer.verify, text: signer.verifierKey };
  throw new CliError(`there is no key of an audit log at ${key}`, {
    hint: "A host writes it at its first start with audit.mode: proven. --key names another key.",
  });
}

export function readVerifierKey(given: string, { cwd }: Terminal): { verify: VerifySignature; text: string } {
  const text = parseVerifierKey(given) === undefined ? readKeyText(resolve(cwd, given)) : given.trim();
  const parsed = parseVerifierKey(text);
  if (parsed !== undefined) return { verify: parsed.verify, text };
  throw new CliError("--key is neither a verifier key (name+hash+base64) nor a file with one", {
    exitCode: exitCodes.usage,
    hint: "`a2e audit key` prints the key of a host.",
  });
}

function readKeyText(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}

/** A file that the user named; standard errors of reading are explained by their own text. */
export function readGivenFile(path: string, { cwd }: Terminal): string {
  try {
    return readFileSync(resolve(cwd, path), "utf8");
  } catch (cause) {
    throw new CliError(`cannot read ${path}: ${(cause as Error).message}`, { exitCode: exitCodes.usage, cause });
  }
}
