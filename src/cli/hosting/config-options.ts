// The options by which commands choose and adjust a config.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { loadHostConfig } from "../../config/file.ts";
import { type ConfigOverrides, toHostConfig } from "../../config/parsing.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import type { Terminal } from "../terminal.ts";

export const configFileName = "a2e.yaml";

export interface ConfigChoice {
  config?: string;
  host?: string;
  port?: number;
  token?: string;
  dataDir?: string;
  workspace?: string;
}

export function addConfigOptions(command: Command): Command {
  return command
    .option("-c, --config <file>", `config file; without it ${configFileName} of this folder, if it exists`)
    .option("--token <secret>", "token that agents must present (safer: the variable A2E_AUTH_TOKEN)")
    .option("--data-dir <folder>", "folder for all data of the host (default: .a2e)")
    .option("--workspace <folder>", "folder that file tools see (default: workspace in the data folder)");
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("expected a number from 0 to 65535; 0 takes any free port");
}

export interface ChosenConfig {
  config: A2EHostConfig;
  /** The file it was read from; undefined without a file. */
  path: string | undefined;
}

/** Rejects with a ConfigError. */
export async function readConfig(choice: ConfigChoice, { cwd, env }: Terminal): Promise<ChosenConfig> {
  const overrides: ConfigOverrides = {
    ...(choice.host === undefined ? {} : { host: choice.host }),
    ...(choice.port === undefined ? {} : { port: choice.port }),
    ...(choice.token === undefined ? {} : { auth_token: choice.token }),
    ...(choice.dataDir === undefined ? {} : { data_dir: resolve(cwd, choice.dataDir) }),
    ...(choice.workspace === undefined ? {} : { workspace_dir: resolve(cwd, choice.workspace) }),
  };
  const path = choice.config ?? (existsSync(resolve(cwd, configFileName)) ? configFileName : undefined);
  if (path === undefined) return { config: toHostConfig({}, { baseDir: cwd, env, overrides }), path };
  return { config: await loadHostConfig(resolve(cwd, path), { env, overrides }), path: resolve(cwd, path) };
}
