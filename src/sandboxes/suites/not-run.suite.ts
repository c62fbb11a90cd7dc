import { type TestContext, test } from "vitest";

/** Says by name which part of the shared suite this machine cannot run, and why: silence would read as success. */
export function reportNotRun(name: string, reason: string): void {
  report(name, reason);
  test.skip(`the shared suite of sandboxes for ${name} (not run: ${reason})`, () => {});
}

/** The same for one test that finds it out while it runs. */
export function skipNotRun(context: TestContext, name: string, reason: string): void {
  report(name, reason);
  context.skip(`not run: ${reason}`);
}

function report(name: string, reason: string): void {
  process.stderr.write(`not run: the shared suite of sandboxes for ${name} (${reason})\n`);
}
