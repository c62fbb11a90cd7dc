import { test } from "vitest";

/** Says by name which part of the shared suite this machine cannot run, and why: silence would read as success. */
export function reportNotRun(name: string, reason: string): void {
  process.stderr.write(`not run: the shared suite of sandboxes for ${name} (${reason})\n`);
  test.skip(`the shared suite of sandboxes for ${name} (not run: ${reason})`, () => {});
}
