// `a2e keys`: the API keys of a host. Works whether the host runs or not; a running host follows each change at once.
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { apiKeyPath, openApiKeyFile } from "../../compose/api-key-file.ts";
import { makeDataFolder } from "../../compose/data-folder.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { ApiKeyError, type ApiKeyManagement, type IssuedApiKey } from "../../credentials/api-key-management.ts";
import type { ApiKeyRecord } from "../../credentials/api-key-table.ts";
import { createLogger } from "../../plugin/logger.ts";
import { parsePattern } from "../../rights/pattern.ts";
import { builtInRoles, findRole } from "../../rights/roles.ts";
import { parseExpiry } from "../arguments/expiry.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { configFileName, readConfig } from "../hosting/config-options.ts";
import { toPlainLine } from "../plain-text.ts";
import { printTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface FolderOptions {
  config?: string;
  dataDir?: string;
  json?: boolean;
}

interface CreateOptions extends FolderOptions {
  label?: string;
  role?: string[];
  scope?: string[];
  expires?: number;
}

export function define(command: Command, terminal: Terminal): void {
  command.addHelpText(
    "after",
    examples([
      "a2e keys create ci-bot --role agent --label 'build server' --expires 90d",
      "a2e keys list",
      "a2e keys rotate ci-bot",
      "a2e keys revoke ci-bot",
    ]),
  );
  addFolderOptions(command.command("create").description("make a key and print it, this once"))
    .argument("<id>", "lowercase letters, digits and hyphens; the principal is then key:<id>")
    .option("--role <name>", "a role of its principal; may be repeated (default: auth.default_roles.keys)", collect)
    .option("--scope <pattern>", "allow only this of what the roles allow; may be repeated", collect)
    .option("--label <text>", "what it is for, for people")
    .option("--expires <when>", "90s, 15m, 12h, 30d or a date (default: never)", (text) => parseExpiry(text))
    .addHelpText("after", examples(["a2e keys create ci-bot", "a2e keys create watcher --role observer --expires 30d"]))
    .action((id: string, options: CreateOptions) => createKey(id, options, terminal));
  addFolderOptions(command.command("list").description("list the keys, without their secrets"))
    .addHelpText("after", examples(["a2e keys list", "a2e keys list --json"]))
    .action((options: FolderOptions) => listKeys(options, terminal));
  addFolderOptions(command.command("revoke").description("refuse a key from now on, and end its sessions"))
    .argument("<id>", "of the key")
    .addHelpText("after", examples(["a2e keys revoke ci-bot"]))
    .action((id: string, options: FolderOptions) => revokeKey(id, options, terminal));
  addFolderOptions(command.command("rotate").description("give a key a new secret; its principal stays the same"))
    .argument("<id>", "of the key")
    .option("--expires <when>", "a new time at which it expires (default: as before)", (text) => parseExpiry(text))
    .addHelpText("after", examples(["a2e keys rotate ci-bot", "a2e keys rotate ci-bot --expires 90d"]))
    .action((id: string, options: CreateOptions) => rotateKey(id, options, terminal));
}

function addFolderOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", `config of the host; without it ${configFileName} of this folder, if it exists`)
    .option("--data-dir <folder>", "folder for all data of the host (default: .a2e)")
    .option("--json", "print JSON");
}

async function createKey(id: string, options: CreateOptions, terminal: Terminal): Promise<void> {
  const { label, role, scope, expires } = options;
  const issued = await withKeys(options, terminal, (keys, config) =>
    keys.create({
      id,
      roles: checkRoles(role ?? config.auth.default_roles.keys, config),
      ...(label === undefined ? {} : { label }),
      ...(scope === undefined ? {} : { scopes: scope.map(checkScope) }),
      ...(expires === undefined ? {} : { expiresAt: expires }),
    }),
  );
  printIssued(issued, options, terminal);
}

async function rotateKey(id: string, options: CreateOptions, terminal: Terminal): Promise<void> {
  const { expires } = options;
  const issued = await withKeys(options, terminal, (keys) =>
    keys.rotate(id, expires === undefined ? {} : { expiresAt: expires }),
  );
  printIssued(issued, options, terminal);
}

/** A role that does not exist would grant nothing. */
function checkRoles(names: readonly string[], { roles }: A2EHostConfig): readonly string[] {
  const unknown = names.find((name) => findRole(roles, name) === undefined);
  if (unknown === undefined) return names;
  const known = [...Object.keys(builtInRoles), ...Object.keys(roles)];
  throw new ApiKeyError(`there is no role "${unknown}": the roles of this host are ${known.join(", ")}`);
}

function checkScope(text: string): string {
  const { problem } = parsePattern(text);
  if (problem === undefined) return text;
  throw new ApiKeyError(`the scope ${JSON.stringify(text)} is not valid: ${problem}`);
}

/** The key alone goes to stdout, so that a script can take it from there. */
function printIssued({ key, record }: IssuedApiKey, { json }: FolderOptions, terminal: Terminal): void {
  if (json) return terminal.print(JSON.stringify({ key, ...toJson(record) }, null, 2));
  terminal.note(`Key of the principal key:${record.id}. It is shown only now: keep it, for example in A2E_AUTH_TOKEN.`);
  terminal.print(key);
}

async function revokeKey(id: string, options: FolderOptions, terminal: Terminal): Promise<void> {
  const record = await withKeys(options, terminal, (keys) => keys.revoke(id));
  if (options.json) terminal.print(JSON.stringify(toJson(record), null, 2));
  else terminal.note(`The key "${id}" is revoked.`);
}

async function listKeys(options: FolderOptions, terminal: Terminal): Promise<void> {
  const records = await withKeys(options, terminal, (keys) => keys.list(), { mayBeMissing: true });
  if (options.json) return terminal.print(JSON.stringify((records ?? []).map(toJson), null, 2));
  if (records === undefined || records.length === 0) return terminal.note("No API keys.");
  printRecords(records, terminal);
}

function withKeys<Result>(
  options: FolderOptions,
  terminal: Terminal,
  work: (keys: ApiKeyManagement, config: A2EHostConfig) => Result,
): Promise<Result>;
function withKeys<Result>(
  options: FolderOptions,
  terminal: Terminal,
  work: (keys: ApiKeyManagement, config: A2EHostConfig) => Result,
  reading: { mayBeMissing: true },
): Promise<Result | undefined>;
/** Resolves when the change is on the disk. A command that only reads does not create the folder. */
async function withKeys<Result>(
  { config: path, dataDir: folder }: FolderOptions,
  terminal: Terminal,
  work: (keys: ApiKeyManagement, config: A2EHostConfig) => Result,
  reading?: { mayBeMissing: true },
): Promise<Result | undefined> {
  const choice = {
    ...(path === undefined ? {} : { config: path }),
    ...(folder === undefined ? {} : { dataDir: folder }),
  };
  const { config } = await readConfig(choice, terminal);
  const dataDir = config.data_dir;
  if (reading !== undefined && !existsSync(apiKeyPath(dataDir))) return undefined;
  await makeDataFolder(dataDir);
  const log = createLogger((line) => terminal.note(line.trimEnd()));
  const file = await openApiKeyFile({ dataDir, log, isWatched: false });
  try {
    return work(file.keys, config);
  } catch (cause) {
    if (!(cause instanceof ApiKeyError)) throw cause;
    throw new CliError(cause.message, { exitCode: exitCodes.usage, hint: `The keys are those in ${dataDir}.`, cause });
  } finally {
    await file.close();
  }
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRecord): "revoked" | "expired" | "valid" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= Date.now() ? "expired" : "valid";
}

function toJson(record: ApiKeyRecord) {
  const { id, label, roles, scopes = null, createdAt, expiresAt, rotatedAt, lastUsedAt, revokedAt } = record;
  const time = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return {
    id,
    principal: `key:${id}`,
    status: stateOf(record),
    label,
    roles,
    scopes,
    created_at: time(createdAt),
    expires_at: time(expiresAt),
    rotated_at: time(rotatedAt),
    last_used_at: time(lastUsedAt),
    revoked_at: time(revokedAt),
  };
}

function printRecords(records: readonly ApiKeyRecord[], terminal: Terminal): void {
  const day = (at: number | undefined) => (at === undefined ? "-" : new Date(at).toISOString().slice(0, 16));
  const rows = records.map((record) => [
    record.id,
    stateOf(record),
    toPlainLine(record.roles.join(",")) || "-",
    toPlainLine(record.scopes?.join(",") ?? "") || "-",
    day(record.createdAt),
    day(record.expiresAt),
    day(record.lastUsedAt),
    toPlainLine(record.label) || "-",
  ]);
  printTable(["ID", "STATUS", "ROLES", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "LABEL"], rows, terminal);
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
