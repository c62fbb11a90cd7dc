// Reads a config file. Every problem with it is a ConfigError.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { ConfigError } from "../machinery/options/problem.ts";
import { parseYaml } from "../machinery/options/yaml.ts";
import { type ConfigOptions, toHostConfig } from "./parsing.ts";
import type { A2EHostConfig } from "./schema.ts";

const maxConfigBytes = 1024 * 1024;

/** The config in a file of YAML or JSON. Relative paths in it start at its folder. */
export async function loadHostConfig(
  path: string,
  options: Pick<ConfigOptions, "env" | "overrides"> = {},
): Promise<A2EHostConfig> {
  const text = await readText(path);
  return parseConfigText(text, { ...options, source: path, baseDir: dirname(resolve(path)) });
}

/** The config in a text of YAML or JSON; problems carry line and column. */
export async function parseConfigText(
  text: string,
  options: Omit<ConfigOptions, "locate"> = {},
): Promise<A2EHostConfig> {
  const { value, locate } = await parseYaml(text, options.source);
  return toHostConfig(value, { ...options, locate });
}

async function readText(path: string): Promise<string> {
  const failure = (message: string, cause?: unknown) => new ConfigError([{ path: "", message }], path, { cause });
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (cause) {
    throw failure(readProblems[(cause as NodeJS.ErrnoException).code ?? ""] ?? "cannot be read", cause);
  }
  if (bytes.length > maxConfigBytes) throw failure(`is larger than ${maxConfigBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw failure("is not a text in UTF-8", cause);
  }
}

const readProblems: Readonly<Record<string, string>> = {
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "is a folder; name the file in it",
  EACCES: "may not be read by this user",
};
