// Finds modules of environments that a config names, and the environments in them.
import { resolve } from "node:path";
import { resolveModule } from "../../machinery/module-resolution.ts";
import { type Environment, isEnvironment } from "./define-env.ts";

/** A module as it was named and as it is imported. */
export interface ModuleReference {
  readonly name: string;
  readonly url: string;
}

export function findModules(names: readonly string[], baseDir: string): ModuleReference[] {
  return names.map((name) => ({ name, url: resolveModule(name, resolve(baseDir)) }));
}

/** Imports a module and returns its environments: each export that is one, and those in an exported list `envs`. */
export async function loadEnvironments({ name, url }: ModuleReference): Promise<Environment[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`environment module ${name} failed to load: ${reason}`, { cause });
  }
  const listed = Array.isArray(exports.envs) ? (exports.envs as unknown[]) : [];
  const found = new Set([...Object.values(exports), ...listed].filter(isEnvironment));
  if (found.size === 0)
    throw new Error(
      `environment module ${name} exports no environment; export what defineEnv returns, or a list "envs"`,
    );
  return [...found];
}
