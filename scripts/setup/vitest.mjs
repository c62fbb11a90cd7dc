// The two sets of tests. A file named `*.long.test.ts` is in the long set (`npm run test:all`): many kills and cuts, official
// suites, long hostile input. Every other test file is in the quick set (`npm test`). vitest.config.ts reads A2E_TEST_SET.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureBubblewrap } from "./bubblewrap.mjs";
import { ensureChromium } from "./chromium.mjs";
import { runTool, say } from "./run-command.mjs";

/** @typedef {{ code: number, passed: number, failed: number, skipped: number }} TestOutcome */

/** Installs Chromium and bubblewrap if this machine allows it. With CI=true, a missing one ends the process. */
export async function ensureTestPrograms() {
  const chromium = await ensureChromium();
  if (chromium === undefined) {
    say("Missing: chromium (install it, or name one in CHROMIUM_PATH). The tests in a browser are skipped without it.");
    if (process.env.CI === "true") process.exit(1);
  } else process.env.CHROMIUM_PATH = chromium;

  if ((await ensureBubblewrap()) === undefined) {
    say("Missing: bubblewrap. The tests of programs in a sandbox are skipped without it.");
    if (process.env.CI === "true") process.exit(1);
  }
}

/**
 * Runs one set; `args` go to vitest.
 * @param {"quick" | "long"} set
 * @param {readonly string[]} [args]
 * @returns {Promise<TestOutcome>}
 */
export async function runTests(set, args = []) {
  const folder = mkdtempSync(join(tmpdir(), "a2e-test-report-"));
  const report = join(folder, "counts.json");
  try {
    const code = await runTool("vitest/vitest.mjs", ["run", ...args], {
      env: { A2E_TEST_SET: set, A2E_TEST_REPORT: report },
    });
    return { code, ...readCounts(report) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A run that could not even start has written nothing.
 * @param {string} path
 */
function readCounts(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
