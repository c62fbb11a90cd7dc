// Builds dist from src if it is out of date.
import { chmodSync, cpSync, existsSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { root, runTool, say } from "./run-command.mjs";

/** Written after each build: newer files have not been built. */
const stamp = `${root}/dist/.built`;

export async function buildIfStale() {
  if (!isStale()) return;
  say("Building …");
  const code = await build();
  if (code !== 0) process.exit(code);
}

/** Resolves with the exit code of the compiler. */
export async function build() {
  // Changes made while it compiles count as not built.
  const startedAt = new Date();
  const code = await runTool("typescript/bin/tsc", ["-p", "tsconfig.build.json"]);
  if (code !== 0) return code;
  removeOrphans();
  copySkills();
  chmodSync(`${root}/dist/cli/main.js`, 0o755);
  writeFileSync(stamp, "");
  utimesSync(stamp, startedAt, startedAt);
  return 0;
}

/** True if dist is missing or older than a source. */
export function isStale() {
  if (!existsSync(stamp) || !existsSync(`${root}/dist/cli/main.js`)) return true;
  const builtAt = statSync(stamp).mtimeMs;
  const built = filesIn("src").filter((path) => !/\.(test|suite)\.ts$/.test(path));
  const sources = [...built, "package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"];
  return sources.some((path) => statSync(`${root}/${path}`).mtimeMs > builtAt);
}

/** The compiler leaves the output of removed files behind, and the package would contain it. */
function removeOrphans() {
  for (const path of filesIn("dist")) {
    const source = path.replace(/^dist/, "src").replace(/(\.d\.ts|\.js)$/, ".ts");
    if (source.endsWith(".ts") && !existsSync(`${root}/${source}`)) rmSync(`${root}/${path}`);
  }
}

/** Skills are folders of text, which no compiler touches. */
function copySkills() {
  const folder = "caps/skill/builtin";
  rmSync(`${root}/dist/${folder}`, { recursive: true, force: true });
  cpSync(`${root}/src/${folder}`, `${root}/dist/${folder}`, { recursive: true });
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(folder) {
  return readdirSync(`${root}/${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}
