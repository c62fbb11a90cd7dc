// Finds modules of toolkits that a config names, and the toolkits in them.
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { resolveModule } from "../../machinery/module-resolution.ts";
import { isToolkit, type Toolkit } from "./define-toolkit.ts";

/** Each export that is a toolkit, of a file, a package, or every module in a folder. */
export async function loadToolkits(names: readonly string[], baseDir: string): Promise<Toolkit[]> {
  const found: Toolkit[] = [];
  for (const name of names) {
    for (const { shown, url } of await findModules(name, resolve(baseDir)))
      found.push(...(await loadModule(shown, url)));
  }
  return found;
}

const moduleFile = /\.m?[jt]s$/;
const noToolkitFile = /\.(d|test|spec|suite)\.m?[jt]s$/;

async function findModules(name: string, baseDir: string): Promise<{ shown: string; url: string }[]> {
  const path = resolve(baseDir, name);
  const entry = await stat(path).catch(() => undefined);
  if (!entry?.isDirectory()) return [{ shown: name, url: resolveModule(name, baseDir) }];
  const files = (await readdir(path)).filter((file) => moduleFile.test(file) && !noToolkitFile.test(file)).sort();
  if (files.length === 0) throw new Error(`toolkit folder ${path}: there is no module (.js, .mjs, .ts) in it`);
  return files.map((file) => ({ shown: join(path, file), url: pathToFileURL(join(path, file)).href }));
}

async function loadModule(shown: string, url: string): Promise<Toolkit[]> {
  let exports: Record<string, unknown>;
  try {
    exports = (await import(url)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`toolkit module ${shown} failed to load: ${reason}`, { cause });
  }
  const found = new Set(Object.values(exports).filter(isToolkit));
  if (found.size === 0)
    throw new Error(`toolkit module ${shown} exports no toolkit; export what defineToolkit returns`);
  return [...found];
}
