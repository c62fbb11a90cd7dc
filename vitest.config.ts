import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { isStale } from "./scripts/setup/build.mjs";
import { root } from "./scripts/setup/run-command.mjs";
import { testReport } from "./scripts/setup/test-report.ts";

const src = fileURLToPath(new URL("./src", import.meta.url));

/** Examples import the package by its name; in tests that is the source, not what was built last. */
const packageByName = {
  name: "a2e-by-name",
  enforce: "pre",
  resolveId(id: string): string | undefined {
    const [, subpath] = /^a2e(?:\/(\w+))?$/.exec(id) ?? [undefined, undefined];
    if (id !== "a2e" && subpath === undefined) return undefined;
    const entry = `${src}/entries/${subpath ?? "index"}.ts`;
    return existsSync(entry) ? entry : `${src}/caps/${subpath}/index.ts`;
  },
} as const;

/** "quick" for `npm test`, "long" for `npm run test:all`; without it, both. */
const set = process.env.A2E_TEST_SET;

/** `npm run soak` is `vitest --mode soak`: the same tests, with many more rounds in those that read SOAK. */
export default defineConfig(({ mode }) => ({
  plugins: [packageByName],
  test: {
    include: [`{src,conformance,examples,scripts}/**/*${set === "long" ? ".long" : ""}.test.ts`],
    exclude: [...configDefaults.exclude, ...(set === "quick" ? ["**/*.long.test.ts"] : [])],
    setupFiles: ["scripts/setup/leak-check.ts", "scripts/setup/patient-waits.ts"],
    reporters: ["default", testReport({ report: process.env.A2E_TEST_REPORT })],
    // A process per file: a handle that one file leaves open cannot be counted against another.
    pool: "forks",
    // More than there are cores: many tests wait for a limit to run out or for another process.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // Only a test that hangs may reach these: on a busy machine a test takes twenty times as long as on a quiet one.
    testTimeout: mode === "soak" ? 3_600_000 : 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    env: { ...(mode === "soak" && { SOAK: "1" }), ...(isStale() ? {} : { A2E_TEST_MAIN: `${root}/dist/cli/main.js` }) },
  },
}));
