// Installs missing dependencies; needs no network if all are installed.
import { existsSync, readFileSync } from "node:fs";
import { root, run, say } from "./run-command.mjs";

const flags = [
  // Packages with native code bring it ready-made.
  "--ignore-scripts",
  "--no-audit",
  "--no-fund",
  "--prefer-offline",
  "--loglevel=error",
  // Without a network, npm would retry for more than a minute before it fails.
  "--fetch-retry-maxtimeout=10000",
];

/** The benchmarks have dependencies of their own, which are installed only on request. */
export async function installMissing({ withBench = false } = {}) {
  const hasBench = existsSync(`${root}/node_modules/a2e-bench`);
  const scope = withBench || hasBench ? [] : ["--workspaces=false"];
  if (isComplete() && (!withBench || hasBench)) return;
  const isFresh = !existsSync(`${root}/node_modules`);
  say("Installing dependencies (once; takes about half a minute) …");
  const code = await run("npm", isFresh ? ["ci", ...flags, ...scope] : ["install", "--no-save", ...flags, ...scope], {
    stdout: "ignore",
  });
  if (code === 0) return;
  say("npm could not install the dependencies; its message is above. Is the network there?");
  process.exit(1);
}

/** True if the installed packages have the versions of the lockfile and include every dependency of the package. */
function isComplete() {
  const installed = readPackages("node_modules/.package-lock.json");
  if (installed === undefined) return false;
  const locked = readPackages("package-lock.json") ?? {};
  const { dependencies, devDependencies } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));
  const wanted = Object.keys({ ...dependencies, ...devDependencies }).map((name) => `node_modules/${name}`);
  return (
    wanted.every((path) => installed[path] !== undefined && existsSync(`${root}/${path}/package.json`)) &&
    Object.entries(installed).every(([path, { version }]) => locked[path]?.version === version)
  );
}

/**
 * @param {string} path
 * @returns {Record<string, { version?: string }> | undefined}
 */
function readPackages(path) {
  try {
    return JSON.parse(readFileSync(`${root}/${path}`, "utf8")).packages;
  } catch {
    return undefined;
  }
}
