import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

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

/** `npm run soak` is `vitest --mode soak`: the same tests, many more rounds of those that count them by SOAK. */
export default defineConfig(({ mode }) => ({
  plugins: [packageByName],
  test: {
    include: ["{src,conformance,examples,scripts}/**/*.test.ts"],
    setupFiles: ["scripts/setup/leak-check.ts"],
    // A process per file: what one leaves behind cannot be taken for another's.
    pool: "forks",
    maxWorkers: "100%",
    // For a busy machine: no test waits on purpose, so a long one hangs.
    testTimeout: mode === "soak" ? 3_600_000 : 30_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 15_000 } },
    env: mode === "soak" ? { SOAK: "1" } : {},
  },
}));
