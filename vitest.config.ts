import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const entries = fileURLToPath(new URL("./src/entries", import.meta.url));

/** `npm run soak` is `vitest --mode soak`: the same tests, many more rounds of those that count them by SOAK. */
export default defineConfig(({ mode }) => ({
  resolve: {
    // Examples import the package by its name; in tests that is the source, not what was built last.
    alias: [
      { find: /^a2e$/, replacement: `${entries}/index.ts` },
      { find: /^a2e\/(\w+)$/, replacement: `${entries}/$1.ts` },
    ],
  },
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
