// A folder for a test file, removed when its tests have run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Returns a function that names a new path in it. */
export function useTemporaryFolder(): () => string {
  const folder = mkdtempSync(join(tmpdir(), "a2e-stores-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  return () => {
    count += 1;
    return join(folder, String(count));
  };
}
