import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { defaultLimits } from "./limits.ts";

const sourceDir = fileURLToPath(new URL("..", import.meta.url));

/** The text of all test files apart from this one. */
function readTests(): string {
  return readdirSync(sourceDir, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(test|suite)\.ts$/.test(path) && !path.endsWith(join("protocol", "limits.test.ts")))
    .map((path) => readFileSync(join(sourceDir, path), "utf8"))
    .join("\n");
}

test("every limit has a test that sets it", () => {
  const tests = readTests();
  const untested = Object.keys(defaultLimits).filter((name) => !new RegExp(`\\b${name}:`).test(tests));
  expect(untested).toEqual([]);
});

test("every limit is a number above zero that a timer or a buffer can take", () => {
  for (const [name, limit] of Object.entries(defaultLimits)) {
    expect([name, Number.isSafeInteger(limit) && limit > 0]).toEqual([name, true]);
    if (name.endsWith("Ms")) expect([name, limit <= 2 ** 31 - 1]).toEqual([name, true]);
  }
});
