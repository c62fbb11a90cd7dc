// The output of a command that fails: the cause and the remedy, and no stack trace for a user's mistake.
import { A2EClientError, A2EConnectionError } from "../client/errors.ts";
import { HostStartError } from "../compose/host-start-error.ts";
import { PluginLoadError } from "../config/plugin-loading.ts";
import { ConfigError } from "../machinery/options/problem.ts";
import { messageOf } from "../protocol/errors.ts";
import { exitCodes } from "./exit-codes.ts";
import { toPlainText } from "./plain-text.ts";
import type { Terminal } from "./terminal.ts";

interface CliErrorOptions {
  exitCode?: number;
  /** How to fix it. */
  hint?: string;
  cause?: unknown;
}

/** A failure in words for the user. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  readonly hint: string | undefined;

  constructor(message: string, { exitCode = exitCodes.failed, hint, cause }: CliErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** Prints the failure and returns the exit code. */
export function reportFailure(error: unknown, terminal: Terminal): number {
  const { red, dim } = terminal.noteStyle;
  // Much of it may be the words of another machine.
  terminal.note(`${red("error:")} ${toPlainText(messageOf(error))}`);
  const hint = hintOf(error, terminal);
  if (hint !== undefined) terminal.note(toPlainText(hint));
  if (terminal.env.A2E_DEBUG) terminal.note(dim(error instanceof Error ? renderStack(error) : String(error)));
  return exitCodeOf(error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ConfigError || error instanceof PluginLoadError) return exitCodes.usage;
  if (error instanceof A2EClientError) return error.is("schema_violation") ? exitCodes.usage : exitCodes.toolFailed;
  if (error instanceof A2EConnectionError) return connectionExitCodes[error.code];
  return exitCodes.failed;
}

const connectionExitCodes: Record<A2EConnectionError["code"], number> = {
  not_connected: exitCodes.unreachable,
  connection_lost: exitCodes.unreachable,
  handshake_failed: exitCodes.unreachable,
  audit_fork: exitCodes.unreachable,
  invalid_answer: exitCodes.unreachable,
  duplicate_id: exitCodes.usage,
  timeout: exitCodes.toolFailed,
  aborted: exitCodes.interrupted,
};

function hintOf(error: unknown, { program }: Terminal): string | undefined {
  if (error instanceof CliError) return error.hint;
  if (isMissingConfig(error)) return `\`${program} init\` writes one.`;
  if (error instanceof HostStartError) return `\`${program} doctor\` looks at config, folders and port.`;
  const isKnown =
    error instanceof ConfigError ||
    error instanceof PluginLoadError ||
    error instanceof A2EClientError ||
    error instanceof A2EConnectionError;
  return isKnown ? undefined : "A2E_DEBUG=1 shows the stack trace.";
}

function isMissingConfig(error: unknown): boolean {
  return error instanceof ConfigError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
}

function renderStack(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\ncaused by ${renderStack(error.cause)}` : stack;
}
