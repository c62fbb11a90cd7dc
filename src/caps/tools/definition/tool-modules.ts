// Finds modules of tools that a config names, and the tools in them.
import { readdir, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CatalogueTool } from "../../../host/tool-catalogue.ts";
import { resolveModule } from "../../../machinery/module-resolution.ts";

/** A module as it was named and as it is imported. */
export interface ModuleReference {
  readonly name: string;
  readonly url: string;
}

/** A file, a package, or each module in a folder: tests and declarations there are none. */
export async function findModules(names: readonly string[], baseDir: string): Promise<ModuleReference[]> {
  const found = await Promise.all(names.map((name) => findModule(name, resolve(baseDir))));
  return found.flat();
}

async function findModule(name: string, baseDir: string): Promise<ModuleReference[]> {
  if (name.startsWith("file:")) return [{ name, url: name }];
  const path = resolve(baseDir, name);
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory()) return findInFolder(path);
  if (entry !== undefined) return [{ name: path, url: pathToFileURL(path).href }];
  if (name.startsWith(".") || isAbsolute(name))
    throw new Error(`tool module "${name}": there is no file or folder ${path}`);
  return [{ name, url: resolveModule(name, baseDir) }];
}

const moduleFile = /\.(m?js|m?ts)$/;
const noToolFile = /\.(d|test|spec|suite)\.m?[jt]s$/;

async function findInFolder(folder: string): Promise<ModuleReference[]> {
  const names = (await readdir(folder)).filter((name) => moduleFile.test(name) && !noToolFile.test(name)).sort();
  if (names.length === 0) throw new Error(`tool folder ${folder}: there is no module (.js, .mjs, .ts) in it`);
  return names.map((name) => ({ name: join(folder, name), url: pathToFileURL(join(folder, name)).href }));
}

/** Imports a module and returns its tools: each export that is one, and those in an exported list `tools`. */
export async function loadTools({ name, url }: ModuleReference): Promise<CatalogueTool[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`tool module ${name} failed to load: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  const listed = Array.isArray(exports.tools) ? (exports.tools as unknown[]) : [];
  const stranger = listed.findIndex((value) => !isTool(value));
  if (stranger >= 0) throw new Error(`tool module ${name}: tools[${stranger}] is no tool; make it with defineTool`);
  const tools = new Set([...Object.values(exports), ...listed].filter(isTool));
  if (tools.size === 0)
    throw new Error(`tool module ${name} exports no tool; export what defineTool returns, or a list "tools"`);
  return [...tools].map((tool) => withSource(tool, name));
}

function isTool(value: unknown): value is CatalogueTool {
  if (typeof value !== "object" || value === null) return false;
  const tool = value as Partial<CatalogueTool>;
  const isRunnable = typeof tool.check === "function" && typeof tool.run === "function";
  return (
    isRunnable &&
    typeof tool.name === "string" &&
    typeof tool.description === "string" &&
    typeof tool.inputSchema === "object"
  );
}

/** Says where a tool comes from if it does not say so itself. An instance of a class stays what it is: a copy would lose its methods. */
export function withSource(tool: CatalogueTool, source: string): CatalogueTool {
  return tool.source === "" && Object.hasOwn(tool, "run") ? { ...tool, source } : tool;
}
