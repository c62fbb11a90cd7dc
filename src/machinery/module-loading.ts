// Loads the modules that a config names: modules of tools, of environments, of toolkits.
import { readdir, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf } from "../protocol/errors.ts";
import { resolveModule } from "./module-resolution.ts";

/** A module as it is shown in errors, and as it is imported. */
export interface ModuleReference {
  readonly name: string;
  readonly url: string;
}

/** The values that a plugin takes from modules. The texts are for errors. */
export interface ModuleContent<Item> {
  /** The noun for a single value: "tool". */
  readonly noun: string;
  /** The function that creates such a value: "defineTool". */
  readonly madeWith: string;
  /** The export that may hold a list of them: "tools". */
  readonly listName: string;
  isItem(value: unknown): value is Item;
}

/** The modules with these names: each is a file, a package, or a folder whose modules are all meant. */
export async function findModules(
  names: readonly string[],
  baseDir: string,
  { noun }: Pick<ModuleContent<unknown>, "noun">,
): Promise<ModuleReference[]> {
  const found = await Promise.all(names.map((name) => findModule(name, resolve(baseDir), noun)));
  return found.flat();
}

async function findModule(name: string, baseDir: string, noun: string): Promise<ModuleReference[]> {
  if (name.startsWith("file:")) return [{ name, url: name }];
  const path = resolve(baseDir, name);
  const entry = await stat(path).catch(() => undefined);
  if (entry?.isDirectory()) return findInFolder(path, noun);
  if (entry !== undefined) return [toReference(path)];
  if (name.startsWith(".") || isAbsolute(name))
    throw new Error(`${noun} module "${name}": there is no file or folder ${path}`);
  return [{ name, url: resolveModule(name, baseDir) }];
}

const moduleFile = /\.m?[jt]s$/;
/** Type declarations and tests, which may stand beside the modules of a folder. */
const otherFile = /\.(d|test|spec|suite)\.m?[jt]s$/;

async function findInFolder(folder: string, noun: string): Promise<ModuleReference[]> {
  const names = (await readdir(folder)).filter((name) => moduleFile.test(name) && !otherFile.test(name)).sort();
  if (names.length === 0) throw new Error(`${noun} folder ${folder}: there is no module (.js, .mjs, .ts) in it`);
  return names.map((name) => toReference(join(folder, name)));
}

function toReference(path: string): ModuleReference {
  return { name: path, url: pathToFileURL(path).href };
}

/** Imports a module and returns its items: the exports that are items, and the items of the exported list. */
export async function loadItems<Item>(
  { name, url }: ModuleReference,
  { noun, madeWith, listName, isItem }: ModuleContent<Item>,
): Promise<Item[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`${noun} module ${name} failed to load: ${messageOf(cause)}`, { cause });
  }
  const list = exports[listName];
  const listed: readonly unknown[] = Array.isArray(list) ? list : [];
  const stranger = listed.findIndex((value) => !isItem(value));
  if (stranger >= 0) throw new Error(`${noun} module ${name}: ${listName}[${stranger}] was not made with ${madeWith}`);
  const items = new Set([...Object.values(exports), ...listed].filter(isItem));
  if (items.size === 0)
    throw new Error(
      `${noun} module ${name} exports no ${noun}; export the result of ${madeWith}, or a list "${listName}"`,
    );
  return [...items];
}
