// Finds the module that a config names, starting at the config's folder and not at ours: a plugin is installed beside
// the config that uses it, while the host may be installed anywhere.
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isJsonObject } from "../protocol/json.ts";

/**
 * The argument for `import()`: the URL of a file, or the specifier itself if it can only be resolved from the host's
 * own folder.
 */
export function resolveModule(specifier: string, baseDir: string): string {
  if (/^(file|node|data):/.test(specifier)) return specifier;
  const path = resolve(baseDir, specifier);
  if (/^\.{1,2}[\\/]/.test(specifier) || isAbsolute(specifier) || isFile(path)) return pathToFileURL(path).href;
  const [, name, subpath = ""] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(specifier) ?? [];
  if (name === undefined) return specifier;
  const require = createRequire(join(baseDir, "config.cjs"));
  for (const folder of require.resolve.paths(specifier) ?? []) {
    const found = resolveExports(join(folder, name), `.${subpath}`);
    if (found !== undefined) return pathToFileURL(found).href;
  }
  try {
    const found = require.resolve(specifier);
    return isAbsolute(found) ? pathToFileURL(found).href : specifier;
  } catch {
    return specifier;
  }
}

const conditions: readonly string[] = ["node", "import", "module-sync", "default"];

/**
 * The file that `import` would load. `require.resolve` ignores the `import` condition and so does not find ESM-only
 * packages.
 */
function resolveExports(folder: string, subpath: string): string | undefined {
  let exports: unknown;
  try {
    exports = (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { exports?: unknown } | null)?.exports;
  } catch {
    return undefined;
  }
  const entry =
    isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith(".")) ? exports : { ".": exports };
  const target = pickCondition((entry as Record<string, unknown>)[subpath]);
  return target?.startsWith("./") ? join(folder, target) : undefined;
}

function pickCondition(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (!isJsonObject(target)) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const picked = conditions.includes(condition) ? pickCondition(inner) : undefined;
    if (picked !== undefined) return picked;
  }
  return undefined;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
