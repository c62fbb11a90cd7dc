// Tests that need a feature of the machine. Without it they are skipped, and the report at the end of the run lists
// each by name with the reason (scripts/setup/test-report.ts). With CI=true a missing need fails the test, unless it is
// optional.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, test } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** Why the test is skipped on this machine. */
    skipReason?: string;
  }
}

export interface Need {
  /** A noun phrase: "needs" and this are the reason that is reported. */
  readonly name: string;
  readonly isMet: boolean;
  /** A build server may lack it. */
  readonly isOptional?: boolean;
}

export const linux: Need = { name: "Linux", isMet: process.platform === "linux" };
export const notWindows: Need = { name: "a system with POSIX permissions", isMet: process.platform !== "win32" };
export const rootUser: Need = { name: "root rights", isMet: process.getuid?.() === 0, isOptional: true };
export const fullDevice: Need = { name: "/dev/full", isMet: existsSync("/dev/full") };

/** A program that answers `--version`. */
export function program(name: string): Need {
  return { name, isMet: spawnSync(name, ["--version"]).status === 0 };
}

/** `test`, or a test that is skipped (with CI=true: that fails) because one of the needs is not met. */
export function testWith(...needs: readonly Need[]): typeof test {
  const missing = needs.find(({ isMet }) => !isMet);
  if (missing === undefined) return test;
  const { options, body } = outcome(missing);
  const replaced = Object.assign((title: string) => test(title, options, body), {
    each: (rows: readonly unknown[]) => (title: string) => test.each(rows)(title, options, body),
  });
  return replaced as unknown as typeof test;
}

/** The same for a group of tests: its tests are skipped, or a single test of the group fails. */
export function describeWith(...needs: readonly Need[]): typeof describe {
  const missing = needs.find(({ isMet }) => !isMet);
  if (missing === undefined) return describe;
  const { options, body } = outcome(missing);
  type Define = (...row: unknown[]) => void;
  const define = (tests: Define): Define =>
    options.skip ? tests : () => void test(`the machine has ${missing.name}`, body);
  const replaced = Object.assign((title: string, tests: Define) => describe(title, options, define(tests)), {
    each: (rows: readonly unknown[]) => (title: string, tests: Define) =>
      describe.each(rows)(title, options, define(tests)),
  });
  return replaced as unknown as typeof describe;
}

/** Reports a set of tests that is not even defined on this machine, as a single skipped test. */
export function reportNotRun(name: string, need: Need): void {
  testWith({ ...need, isMet: false })(name, () => {});
}

function outcome({ name, isOptional = false }: Need) {
  const skip = isOptional || process.env.CI !== "true";
  const reason = `needs ${name}`;
  const body = () => {
    throw new Error(`${reason}, which this machine does not have; with CI=true that is a failure`);
  };
  return { options: { skip, meta: { skipReason: reason } }, body };
}
