// Turns any input into a config, or into a list of its problems.
import { resolve } from "node:path";
import { z } from "zod";
import { nearest } from "../machinery/nearest.ts";
import { explainIssue } from "../machinery/options/issues.ts";
import {
  ConfigError,
  type ConfigPath,
  type ConfigProblem,
  isSecretPath,
  renderPath,
} from "../machinery/options/problem.ts";
import { fromText } from "../machinery/options/text-values.ts";
import { valueAt } from "../machinery/validation/value-at.ts";
import { copyJson } from "../protocol/json.ts";
import { isMapping, moveAliases } from "./aliases.ts";
import { findAuthProblems } from "./auth.ts";
import { type EnvironmentVariables, substituteEnvironment } from "./environment.ts";
import { fieldsOf, isOpen, pathsOf, toField } from "./fields.ts";
import { findRoleProblems } from "./roles.ts";
import { type A2EHostConfig, hostConfig } from "./schema.ts";

export interface ConfigOptions {
  /** The name of the config in messages. */
  source?: string;
  /** The variables for `${NAME}` and A2E_AUTH_TOKEN; by default the environment of the process. */
  env?: EnvironmentVariables;
  /** The folder that relative paths start from; by default the working directory. */
  baseDir?: string;
  /** Settings that replace those of the config: options of a command line. Paths in it are absolute. */
  overrides?: ConfigOverrides;
  /** Finds the place of a value, or of its key, in the text that the config came from. */
  locate?(path: ConfigPath, part: "key" | "value"): { line: number; column: number } | undefined;
}

export interface ConfigOverrides {
  host?: string;
  port?: number;
  auth_token?: string;
  data_dir?: string;
  workspace_dir?: string;
}

export type ParsedHostConfig = { config: A2EHostConfig } | { problems: ConfigProblem[] };

/** Never throws: all problems with the input are in the result. */
export function parseHostConfig(input: unknown, options: ConfigOptions = {}): ParsedHostConfig {
  const reading = new ConfigReading(options);
  if (!isMapping(input ?? {})) {
    reading.report(
      [],
      `expected settings such as "host_id: my-host", found ${Array.isArray(input) ? "a list" : "a single value"}`,
    );
    return { problems: reading.problems };
  }
  const { config: moved, origins } = moveAliases(
    (input ?? {}) as Record<string, unknown>,
    (path, message, suggestion) =>
      reading.report(path, message, suggestion, suggestion === undefined ? "value" : "key"),
  );
  reading.origins = origins;
  const prepared = reading.prepare(hostConfig, moved, []);
  const parsed = hostConfig.safeParse(prepared);
  for (const issue of parsed.error?.issues ?? []) {
    const path = issue.path as ConfigPath;
    const { message, suggestion } = explainIssue(issue, valueAt(prepared, path), reading.isSecret(path));
    reading.report(path, message, suggestion);
  }
  if (parsed.success) {
    reading.reportRepeatedNames(parsed.data.plugins);
    for (const { path, message, suggestion, part } of findRoleProblems(parsed.data.roles, parsed.data.plugins)) {
      if (reading.isSubstituted(path)) reading.report(path, "the variable is not a pattern that any call matches");
      else reading.report(path, message, suggestion, part);
    }
    for (const { path, message, suggestion, part } of findAuthProblems(parsed.data)) {
      if (reading.isSubstituted(path)) reading.report(path, "the variable is not the name of a role");
      else reading.report(path, message, suggestion, part);
    }
  }
  if (!parsed.success || reading.problems.length > 0) {
    return { problems: reading.problems.sort((one, other) => (one.line ?? 0) - (other.line ?? 0)) };
  }
  const { baseDir = process.cwd(), env = process.env, overrides = {} } = options;
  return { config: { ...complete(override(parsed.data, overrides), baseDir, env), ...reading.variables } };
}

/** Returns the config, or throws a ConfigError with all its problems. */
export function toHostConfig(input: unknown, options: ConfigOptions = {}): A2EHostConfig {
  const parsed = parseHostConfig(input, options);
  if ("problems" in parsed) throw new ConfigError(parsed.problems, options.source);
  return parsed.config;
}

const knownPaths = pathsOf(hostConfig);

class ConfigReading {
  readonly problems: ConfigProblem[] = [];
  origins: ReadonlyMap<string, readonly string[]> = new Map();
  readonly #options: ConfigOptions;
  readonly #env: EnvironmentVariables;
  /** Paths whose text came from the environment: their values may be secrets. */
  readonly #substituted = new Set<string>();
  #variables: Readonly<Record<string, string>> | undefined;

  constructor(options: ConfigOptions) {
    this.#options = options;
    this.#env = options.env ?? process.env;
  }

  report(path: ConfigPath, message: string, suggestion?: string, part: "key" | "value" = "value"): void {
    const written = this.origins.get(path.join(".")) ?? path;
    const place = this.#options.locate?.(written, part);
    this.problems.push({
      path: renderPath(written),
      message,
      ...(suggestion === undefined ? {} : { suggestion }),
      ...place,
    });
  }

  get variables(): Pick<A2EHostConfig, "variables"> {
    return this.#variables === undefined ? {} : { variables: this.#variables };
  }

  isSecret(path: ConfigPath): boolean {
    return isSecretPath(path) || this.isSubstituted(path);
  }

  isSubstituted(path: ConfigPath): boolean {
    return this.#substituted.has(path.join("."));
  }

  /** Settles all that the schema does not: empty sections, `${NAME}`, numbers written as text, unknown keys. */
  prepare(schema: z.ZodType, value: unknown, path: ConfigPath): unknown {
    // A key without a value, as left behind when the lines below it are commented out, is not a setting.
    if (value === null || value === undefined) return undefined;
    if (typeof value === "string") return toExpected(schema, this.#substitute(value, path));
    if (schema instanceof z.ZodObject) return isMapping(value) ? this.#prepareSection(schema, value, path) : value;
    if (schema instanceof z.ZodRecord) return isMapping(value) ? this.#prepareNamed(schema, value, path) : value;
    if (schema instanceof z.ZodArray) {
      if (!Array.isArray(value)) return value;
      const item = toField(schema.element as z.ZodType).schema;
      return Array.from(value, (entry, index) => this.prepare(item, entry, [...path, index]));
    }
    return schema instanceof z.ZodCustom ? this.#prepareFreely(value, path) : value;
  }

  #prepareSection(section: z.ZodObject, value: Record<string, unknown>, path: ConfigPath): Record<string, unknown> {
    const fields = fieldsOf(section);
    const prepared: [string, unknown][] = [];
    for (const [key, item] of Object.entries(value)) {
      const here = [...path, key];
      const field = fields.get(key);
      if (field !== undefined) prepared.push([key, this.prepare(field.schema, item, here)]);
      else if (!isOpen(section)) this.report(here, "unknown key", suggestKey(key, section), "key");
      else if (key !== "__proto__") prepared.push([key, this.#prepareFreely(item, here)]);
    }
    return Object.fromEntries(prepared.filter(([, item]) => item !== undefined));
  }

  /** Sections whose names the author of the config chooses. */
  #prepareNamed(record: z.ZodRecord, value: Record<string, unknown>, path: ConfigPath): Record<string, unknown> {
    const { schema } = toField(record.valueType as z.ZodType);
    const prepared = Object.entries(value).map(
      ([name, item]) => [name, this.prepare(schema, item, [...path, name])] as const,
    );
    return Object.fromEntries(prepared.filter(([, item]) => item !== undefined));
  }

  /** Settings of a plugin are copied unchanged, once their variables are replaced. */
  #prepareFreely(value: unknown, path: ConfigPath): unknown {
    try {
      return this.#substituteDeeply(copyJson(value), path);
    } catch {
      this.report(path, "expected plain JSON values, nested less than 256 deep");
      return undefined;
    }
  }

  #substituteDeeply(value: unknown, path: ConfigPath): unknown {
    if (typeof value === "string") return this.#substitute(value, path);
    if (Array.isArray(value)) return value.map((item, index) => this.#substituteDeeply(item, [...path, index]));
    if (!isMapping(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.#substituteDeeply(item, [...path, key])]),
    );
  }

  #substitute(text: string, path: ConfigPath): string | undefined {
    const result = substituteEnvironment(text, this.#env);
    if ("problem" in result) {
      this.report(path, result.problem);
      return undefined;
    }
    if (Object.keys(result.variables).length > 0) {
      this.#substituted.add(path.join("."));
      this.#variables = { ...this.#variables, ...result.variables };
    }
    return result.value;
  }

  reportRepeatedNames(plugins: readonly { name?: string | undefined; type: string }[]): void {
    const seen = new Set<string>();
    for (const [index, { name, type }] of plugins.entries()) {
      const used = name ?? type;
      if (seen.has(used))
        this.report(
          ["plugins", index, ...(name === undefined ? [] : ["name"])],
          `another plugin has the name "${used}" already`,
        );
      seen.add(used);
    }
  }
}

function toExpected(schema: z.ZodType, text: string | undefined): unknown {
  if (text === undefined) return undefined;
  if (schema instanceof z.ZodNumber) return fromText("number", text);
  return schema instanceof z.ZodBoolean ? fromText("boolean", text) : text;
}

/**
 * A key of this section with a similar spelling, or the only path below or elsewhere that ends with exactly this key.
 */
function suggestKey(key: string, section: z.ZodObject): string | undefined {
  const near = nearest(key, fieldsOf(section).keys());
  if (near !== undefined) return near;
  const below = pathsOf(section).filter((path) => path.endsWith(`.${key}`));
  const places = below.length > 0 ? below : knownPaths.filter((path) => path === key || path.endsWith(`.${key}`));
  if (places.length === 1) return places[0];
  // An option of a plugin that stands beside its name.
  const open = [...fieldsOf(section)].find(([, { schema }]) => schema instanceof z.ZodObject && isOpen(schema));
  return open === undefined ? undefined : `${open[0]}.${key}`;
}

function override(parsed: z.output<typeof hostConfig>, overrides: ConfigOverrides): z.output<typeof hostConfig> {
  const { host = parsed.server.host, port = parsed.server.port, ...rest } = overrides;
  return { ...parsed, ...rest, server: { ...parsed.server, host, port } };
}

function complete(parsed: z.output<typeof hostConfig>, baseDir: string, env: EnvironmentVariables): A2EHostConfig {
  const { auth_token: written, ...rest } = parsed;
  const base = resolve(baseDir);
  const data = resolve(base, parsed.data_dir);
  const within = (path: string | undefined, fallback: string) =>
    path === undefined ? resolve(data, fallback) : resolve(base, path);
  const { type, path } = parsed.snapshot_store;
  const token = written || env.A2E_AUTH_TOKEN;
  return {
    ...rest,
    ...(token ? { auth_token: token } : {}),
    server: { ...parsed.server, tls: absoluteFiles(parsed.server.tls, base) },
    audit: { ...parsed.audit, path: within(parsed.audit.path, "audit.jsonl") },
    recording: { ...parsed.recording, path: within(parsed.recording.path, "recordings") },
    plugins: parsed.plugins.map((entry) => ({ ...entry, name: entry.name ?? entry.type })),
    snapshot_store:
      type === "memory" ? { type } : { type, path: within(path, type === "sqlite" ? "snapshots.sqlite" : "snapshots") },
    sandbox: { ...parsed.sandbox, readable: parsed.sandbox.readable.map((path) => resolve(base, path)) },
    data_dir: data,
    workspace_dir: within(parsed.workspace_dir, "workspace"),
    base_dir: base,
  };
}

function absoluteFiles(tls: A2EHostConfig["server"]["tls"], base: string): A2EHostConfig["server"]["tls"] {
  const { client_certificates, ...files } = tls;
  const entries = Object.entries(files).flatMap(([name, path]) =>
    path === undefined ? [] : [[name, resolve(base, path)]],
  );
  return { client_certificates, ...(Object.fromEntries(entries) as typeof files) };
}
