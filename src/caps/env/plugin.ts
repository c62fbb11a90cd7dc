// The host side of the env capability.
import { join, resolve } from "node:path";
import { findModules } from "../../machinery/module-loading.ts";
import { type RegularWork, startRegularWork } from "../../machinery/regular-work.ts";
import { WorkerPool } from "../../machinery/threads/worker-pool.ts";
import {
  type Plugin,
  type PluginContext,
  plugin,
  runOutside,
  type SessionContext,
  type SessionPart,
} from "../../plugin/plugin.ts";
import { anonymous } from "../../plugin/principal.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { builtinEnvs, builtinNames } from "./builtin/all.ts";
import type { DataPlaneOptions } from "./data/data-plane.ts";
import { StagedFolders } from "./data/staged-folders.ts";
import type { Environment } from "./define-env.ts";
import { environmentModules, loadEnvironments } from "./env-modules.ts";
import { createHandlers } from "./handlers.ts";
import { type IsolatedEnv, loadIsolatedEnvs } from "./isolation/isolated-envs.ts";
import { envLimits } from "./limits.ts";
import { type EnvOptions, type ParsedEnvOptions, parseEnvOptions } from "./options.ts";
import { env } from "./protocol.ts";

export interface EnvPluginOptions extends EnvOptions {
  /** Environments created in code, added to the built-in ones and those of modules. */
  envs?: Iterable<Environment>;
}

/** Called for `type: env` in a config. */
export function createPlugin(options: JsonObject): Plugin<typeof env> {
  return createEnvPlugin(parseEnvOptions(options), []);
}

export function envPlugin({ envs = [], ...options }: EnvPluginOptions = {}): Plugin<typeof env> {
  return createEnvPlugin(parseEnvOptions(options), envs);
}

function createEnvPlugin(options: ParsedEnvOptions, own: Iterable<Environment>): Plugin<typeof env> {
  const environments = new Map<string, Environment>();
  /** Isolated environments by name; each session gets its own instance. */
  const isolated = new Map<string, IsolatedEnv>();
  let pool: WorkerPool | undefined;
  let data: DataPlaneOptions | undefined;
  let collecting: RegularWork | undefined;

  const add = (environment: Environment) => {
    if (environments.has(environment.name)) throw new Error(`two environments are called "${environment.name}"`);
    environments.set(environment.name, environment);
  };

  const addIsolated = (create: IsolatedEnv) => {
    const environment = create(nobody);
    add(environment);
    isolated.set(environment.name, create);
  };

  /** Keeps the order, which decides on the default environment. */
  const environmentsOf = (context: SessionContext): ReadonlyMap<string, Environment> => {
    if (isolated.size === 0) return environments;
    return new Map(Array.from(environments, ([name, shared]) => [name, isolated.get(name)?.(context) ?? shared]));
  };

  return plugin(env, {
    exclusive: options.exclusive,
    stateVersion: 1,
    ...(options.priority === undefined ? {} : { priority: options.priority }),

    async setup(context) {
      environments.clear();
      isolated.clear();
      for (const environment of own) add(environment);
      for (const name of builtinsOf(options)) add(builtinEnvs[name]);
      const modules = await findModules(options.modules, options.base_dir, environmentModules);
      data = toDataOptions(options, context);
      collecting = collectRegularly(data.folders, context);
      if (modules.length > 0 && options.isolation === "worker") pool = createPool(options, context);
      try {
        for (const module of modules) {
          if (pool === undefined) for (const environment of await loadEnvironments(module)) add(environment);
          else
            for (const create of await loadIsolatedEnvs(module, pool, options.worker_timeout_ms)) addIsolated(create);
        }
        if (options.default_env !== "" && !environments.has(options.default_env))
          throw new Error(`default_env: there is no environment "${options.default_env}"`);
      } catch (error) {
        await Promise.all([collecting.close(), pool?.close()]);
        throw error;
      }
    },

    session(context: SessionContext): SessionPart<typeof env> {
      if (data === undefined) throw new Error("the plugin is not set up");
      return createHandlers(context, options, environmentsOf(context), data);
    },

    async close() {
      await Promise.all([collecting?.close(), pool?.close()]);
    },
  });
}

/** Stands in for a session while an isolated environment is only described. */
const nobody: Parameters<IsolatedEnv>[0] = { session: { id: "", principal: anonymous }, outside: runOutside };

function collectRegularly(folders: StagedFolders, { clock, log }: PluginContext): RegularWork {
  return startRegularWork({
    work: () => folders.collect(clock.now() - envLimits.dataKeptMs),
    everyMs: envLimits.dataCollectIntervalMs,
    onError: (error) => log.error("removing old files of env/data failed", { error }),
  });
}

function builtinsOf({ builtin }: ParsedEnvOptions): readonly (typeof builtinNames)[number][] {
  if (typeof builtin !== "boolean") return builtin;
  return builtin ? builtinNames : [];
}

function toDataOptions({ data, base_dir }: ParsedEnvOptions, context: PluginContext): DataPlaneOptions {
  return {
    folders: new StagedFolders(join(context.dataDir, "env-data")),
    baseline: data.baseline === "" ? undefined : resolve(base_dir, data.baseline),
    sources:
      data.sources.length === 0 ? [context.workspaceDir] : data.sources.map((folder) => resolve(base_dir, folder)),
    maxBytes: data.max_bytes,
    maxFiles: data.max_files,
  };
}

function createPool({ workers: size, worker_memory_mb }: ParsedEnvOptions, { log }: PluginContext): WorkerPool {
  return new WorkerPool({ size, log, resourceLimits: { maxOldGenerationSizeMb: worker_memory_mb, stackSizeMb: 4 } });
}
