// Turns the entries of a config into plugins, ready to be set up. Capabilities are passed in: the host does not name
// any.

import { isolatePlugin } from "../isolation/isolated-plugin.ts";
import { createPluginFrom, didYouMean, messageOf, PluginRefusal, toPlugin } from "../isolation/plugin-export.ts";
import { ConfigError, countProblems, renderProblemLines } from "../machinery/options/problem.ts";
import { warnWhileSlow } from "../machinery/pacing/slow-work.ts";
import type { Logger } from "../plugin/logger.ts";
import type { LoadedPlugin, Plugin, PluginFactory } from "../plugin/plugin.ts";
import { canonicalCapability } from "../protocol/dialects.ts";
import type { JsonObject } from "../protocol/json.ts";
import { concealInError, concealVariables } from "./environment.ts";
import type { A2EHostConfig } from "./schema.ts";

/** A plugin with the entry of the config that it was created from. */
export interface ConfiguredPlugin extends LoadedPlugin {
  readonly type: string;
  readonly isolation: "none" | "worker";
  /** The options it was created with: its own metadata, and `base_dir`, the folder that its relative paths start from. */
  readonly options: JsonObject;
}

export interface PluginSources {
  /** Factories of the built-in plugins by capability; each is loaded only when the config asks for it. */
  builtin: Readonly<Record<string, () => Promise<PluginFactory>>>;
  log: Logger;
}

export interface PluginFailure {
  readonly name: string;
  readonly cls?: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** Stops the start of a host; names every plugin that did not load, and why. */
export class PluginLoadError extends Error {
  override readonly name = "PluginLoadError";
  readonly failures: readonly PluginFailure[];

  constructor(failures: readonly PluginFailure[]) {
    const lines = failures.map(
      ({ name, cls, message }) => `plugin "${name}"${cls === undefined ? "" : ` (${cls})`}: ${message}`,
    );
    super(lines.join("\n"), { cause: failures.find(({ cause }) => cause !== undefined)?.cause });
    this.failures = failures;
  }
}

type ConfigEntry = A2EHostConfig["plugins"][number];

/** The enabled plugins, highest priority first and otherwise as listed. Rejects with a PluginLoadError. */
export async function loadPlugins(
  config: Pick<A2EHostConfig, "plugins" | "base_dir" | "variables">,
  sources: PluginSources,
): Promise<ConfiguredPlugin[]> {
  const loading = config.plugins.map(async (entry, index) => {
    if (!entry.metadata.enabled) return undefined;
    try {
      return await loadPlugin(entry, config.base_dir, sources);
    } catch (error) {
      const message = concealVariables(explain(error, index), config.variables);
      concealInError(error, config.variables);
      return toFailure(entry, message, error);
    }
  });
  const outcomes = (await Promise.all(loading)).filter((outcome) => outcome !== undefined);
  const failures = outcomes.filter((outcome) => "message" in outcome);
  if (failures.length > 0) throw new PluginLoadError(failures);
  const loaded = outcomes.filter((outcome) => "plugin" in outcome);
  return loaded.sort((one, other) => other.priority - one.priority);
}

function explain(error: unknown, index: number): string {
  if (error instanceof PluginRefusal) return error.message;
  if (!(error instanceof ConfigError)) return `failed: ${messageOf(error)}`;
  const place = `plugins[${index}].metadata`;
  const problems = error.problems.map((problem) => ({
    ...problem,
    path: problem.path === "" || problem.path.startsWith("[") ? place + problem.path : `${place}.${problem.path}`,
  }));
  return [`${countProblems(problems)} with its options:`, ...renderProblemLines(problems, error.source)].join("\n");
}

function toFailure({ name, cls }: ConfigEntry, message: string, error: unknown): PluginFailure {
  const cause = error instanceof PluginRefusal ? error.cause : error;
  return { name, ...(cls === undefined ? {} : { cls }), message, cause };
}

async function loadPlugin(entry: ConfigEntry, baseDir: string, sources: PluginSources): Promise<ConfiguredPlugin> {
  const { enabled: _, priority, exclusive, isolation, ...own } = entry.metadata;
  // Set only if it is requested: a plugin that checks its options and does not support isolation then rejects it
  // instead of running without.
  const wanted = isolation === "none" ? {} : { isolation };
  const options = { ...own, ...wanted, base_dir: baseDir } as JsonObject;
  const work = createPlugin(entry, baseDir, options, sources);
  const plugin = await warnWhileSlow(work, sources.log, "a plugin takes long to load", { plugin: entry.name });
  return {
    name: entry.name,
    type: entry.type,
    plugin,
    priority: priority ?? plugin.priority ?? 0,
    exclusive: exclusive ?? plugin.exclusive ?? false,
    isolation,
    options,
  };
}

async function createPlugin(
  entry: ConfigEntry,
  baseDir: string,
  options: JsonObject,
  sources: PluginSources,
): Promise<Plugin> {
  const { name, type, cls, metadata } = entry;
  const { builtin, log } = sources;
  if (cls === undefined) return toPlugin(await loadBuiltin(type, builtin), options, type);
  const sdkType = /^a2e\.caps\.(\w+)\.(?:\w+\.)*\w+$/.exec(cls)?.[1];
  if (sdkType !== undefined && canonicalCapability(sdkType) === type && Object.hasOwn(builtin, type)) {
    log.warn("a class of the Python SDK: the built-in plugin takes its place", { plugin: name, cls });
    return toPlugin(await loadBuiltin(type, builtin), options, type);
  }
  const plugin = await createPluginFrom(cls, baseDir, type, options);
  return metadata.isolation === "worker" ? isolatePlugin({ plugin, source: { cls, baseDir, type, options } }) : plugin;
}

async function loadBuiltin(type: string, builtin: PluginSources["builtin"]): Promise<PluginFactory> {
  const load = Object.hasOwn(builtin, type) ? builtin[type] : undefined;
  if (load !== undefined) return load();
  const known = Object.keys(builtin);
  throw new PluginRefusal(
    `there is no built-in plugin of type "${type}", only of ${known.join(", ") || "no type at all"}${didYouMean(type, known)}; ` +
      'other types need cls: "module#Export"',
  );
}
