// Finds the export that the `cls` of a config names, and creates a plugin from it.
import { existsSync } from "node:fs";
import { resolveModule } from "../machinery/module-resolution.ts";
import { nearest } from "../machinery/nearest.ts";
import type { Plugin, PluginFactory } from "../plugin/plugin.ts";
import { canonicalCapability } from "../protocol/dialects.ts";
import type { JsonObject } from "../protocol/json.ts";

/** Why a plugin was not taken, in words that need no further explanation. */
export class PluginRefusal extends Error {}

/** Loads the export that `cls` names and creates the plugin. */
export async function createPluginFrom(
  cls: string,
  baseDir: string,
  type: string,
  options: JsonObject,
): Promise<Plugin> {
  return toPlugin(await loadExport(cls, baseDir), options, type);
}

async function loadExport(cls: string, baseDir: string): Promise<unknown> {
  const { specifier, name } = splitClass(cls);
  const module = await importModule(specifier, baseDir);
  if (Object.hasOwn(module, name)) return module[name];
  const names = Object.keys(module);
  throw new PluginRefusal(
    `${specifier} exports no "${name}", only ${names.slice(0, 20).join(", ") || "nothing"}${didYouMean(name, names)}`,
  );
}

/** `module#Export`, or `package.Export` as in configs of the SDK. */
function splitClass(cls: string): { specifier: string; name: string } {
  const isPath = /^(\.{0,2}[\\/]|file:|[A-Za-z]:\\)|\.[cm]?[jt]s#?$/.test(cls);
  const at = cls.includes("#") || isPath ? cls.lastIndexOf("#") : cls.lastIndexOf(".");
  const specifier = cls.slice(0, Math.max(at, 0));
  const name = cls.slice(at + 1);
  if (specifier !== "" && name !== "") return { specifier, name };
  const example = isPath ? cls.replace(/#$/, "") : "./my-plugin.js";
  throw new PluginRefusal(`cls must name a module and one of its exports, as in "${example}#myPlugin"`);
}

async function importModule(specifier: string, baseDir: string): Promise<Record<string, unknown>> {
  const target = resolveModule(specifier, baseDir);
  try {
    return (await import(/* @vite-ignore */ target)) as Record<string, unknown>;
  } catch (cause) {
    const message = isMissing(target, cause)
      ? `there is no module "${specifier}" (looked from ${baseDir})`
      : `${specifier} could not be loaded: ${messageOf(cause)}`;
    throw new PluginRefusal(message, { cause });
  }
}

/** An existing module may fail because another module is missing, so the error's code alone is not enough. */
function isMissing(target: string, error: unknown): boolean {
  if (target.startsWith("file:")) return !existsSync(new URL(target));
  const isNotFound = error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";
  return isNotFound && error.message.includes(`'${target}'`);
}

/** An export is a plugin, a function that returns a plugin, or a class of plugins. */
export async function toPlugin(found: unknown, options: JsonObject, type: string): Promise<Plugin> {
  if (typeof found !== "function") return checkPlugin(found, type);
  const isClass = /^class\b/.test(Function.prototype.toString.call(found));
  const made = isClass
    ? new (found as new (options: JsonObject) => unknown)(options)
    : (found as PluginFactory)(options);
  return checkPlugin(await made, type);
}

function checkPlugin(value: unknown, type: string): Plugin {
  if (typeof value !== "object" || value === null) {
    throw new PluginRefusal(`is not a plugin but ${value === null ? "null" : typeof value}`);
  }
  const { capability, session } = value as Partial<Plugin>;
  const isTable = typeof capability?.name === "string" && typeof capability.calls === "object";
  if (!isTable || typeof session !== "function") {
    const missing = [
      isTable ? "" : "capability (a table)",
      typeof session === "function" ? "" : "session (a function)",
    ];
    throw new PluginRefusal(`is not a plugin: it lacks ${missing.filter(Boolean).join(" and ")}`);
  }
  if (canonicalCapability(capability.name) !== type) {
    throw new PluginRefusal(`serves the capability "${capability.name}", but the config says type "${type}"`);
  }
  return value as Plugin;
}

export function didYouMean(word: string, candidates: Iterable<string>): string {
  const meant = nearest(word, candidates);
  return meant === undefined ? "" : ` (did you mean "${meant}"?)`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
