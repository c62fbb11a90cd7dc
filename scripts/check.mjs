// `npm run check`: everything a change must pass. All steps run, so that one call lists everything there is to fix.
import "./setup/node-version.mjs";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./setup/build.mjs";
import { installMissing } from "./setup/install.mjs";
import { run, runTool, say } from "./setup/run-command.mjs";
import { ensureTestPrograms, runTests } from "./setup/vitest.mjs";

await installMissing();
await ensureTestPrograms();

/** Of both sets of tests together. */
const counts = { passed: 0, failed: 0, skipped: 0 };

const layered = ["src", "examples", "scripts"];
const steps = {
  types: () => runTool("typescript/bin/tsc", ["-p", "tsconfig.json"]),
  "format and lint": () => runTool("@biomejs/biome/bin/biome", ["check", "--error-on-warnings"]),
  layers: () => runTool("dependency-cruiser/bin/dependency-cruise.mjs", ["--config", "scripts/layers.cjs", ...layered]),
  "unused code": () => runTool("knip/bin/knip.js", []),
  "generated files": () => runTool("tsx/dist/cli.mjs", ["scripts/generate.ts", "--check"]),
  build,
  package: checkPackage,
  "quick tests": () => countTests("quick"),
  "long tests": () => countTests("long"),
};

const failed = [];
for (const [name, step] of Object.entries(steps)) {
  const startedAt = performance.now();
  say(`\n── ${name}`);
  const code = await step();
  say(`── ${name}: ${code === 0 ? "ok" : "FAILED"} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (code !== 0) failed.push(name);
}
say(`\nTests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
say(failed.length === 0 ? "All checks passed." : `Failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {"quick" | "long"} set */
async function countTests(set) {
  const { code, passed, failed, skipped } = await runTests(set);
  counts.passed += passed;
  counts.failed += failed;
  counts.skipped += skipped;
  return code;
}

/** Looks at the package as it would be published. */
async function checkPackage() {
  const folder = mkdtempSync(join(tmpdir(), "a2e-pack-"));
  try {
    const packed = await run("npm", ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder], {
      stdout: "ignore",
    });
    if (packed !== 0) return packed;
    const tarball = join(folder, readdirSync(folder)[0] ?? "");
    const linted = await runTool("publint/src/cli.js", ["run", tarball, "--strict"]);
    const typed = await runTool("@arethetypeswrong/cli/dist/index.js", [tarball, "--profile", "esm-only", "--quiet"]);
    return linted || typed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
