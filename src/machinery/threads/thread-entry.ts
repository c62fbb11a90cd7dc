// Finds the code of a worker thread, whether the package runs from sources or from the build.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** URL of a module beside `base`. */
export function siblingModule(name: string, base: string): string {
  return new URL(`./${name}${base.endsWith(".ts") ? ".ts" : ".js"}`, base).href;
}

/** The URL to start a worker with, so that it runs the module beside `base`. */
export function threadEntry(name: string, base: string): URL {
  const entry = siblingModule(name, base);
  if (entry.endsWith(".js")) return new URL(entry);
  // Sources need a loader for TypeScript, and `--import` does not reach the entry of a worker on Node 20.
  const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx/esm/api")).href.replace(/\.cjs$/, ".mjs");
  const code = `import { register } from ${JSON.stringify(loader)}; register(); await import(${JSON.stringify(entry)});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}
