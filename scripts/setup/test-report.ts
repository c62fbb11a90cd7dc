// The closing lines of a test run: every skipped test by name with its reason, then the counts in one line. With CI=true a
// skipped test without a reason fails the run.
import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";

/** `report` is a file that receives the counts as JSON, for the script that started the run. */
export function testReport({ report }: { report: string | undefined }): Reporter {
  let isNarrowed = false;
  return {
    onInit(vitest) {
      isNarrowed = vitest.config.testNamePattern !== undefined;
    },
    onTestRunEnd(modules, unhandledErrors) {
      const tests = modules.flatMap((module) => [...module.children.allTests()]);
      const skipped = tests.filter((test) => test.result().state === "skipped");
      // `-t` skips every other test; those need no reason.
      const listed = isNarrowed ? [] : skipped;
      for (const test of listed) write(`skipped: ${nameOf(test)}: ${reasonOf(test) ?? "no reason given"}`);
      const count = (state: string) => tests.filter((test) => test.result().state === state).length;
      // A file that fails to load, a hook that fails or an unhandled error has no failed test of its own.
      const failed = count("failed") + modules.filter(failsAsWhole).length + unhandledErrors.length;
      const counts = { passed: count("passed"), failed, skipped: skipped.length };
      if (report !== undefined) writeFileSync(report, JSON.stringify(counts));
      write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
      if (process.env.CI === "true" && listed.some((test) => reasonOf(test) === undefined)) {
        write("With CI=true every skipped test needs a reason: use testWith() of src/testing/needs.suite.ts.");
        process.exitCode = 1;
      }
    },
  };
}

function failsAsWhole(module: TestModule): boolean {
  return module.errors().length > 0 || [...module.children.allSuites()].some((suite) => suite.errors().length > 0);
}

function reasonOf(test: TestCase): string | undefined {
  const { state, ...result } = test.result();
  const note = state === "skipped" && "note" in result ? result.note : undefined;
  return note ?? test.meta().skipReason;
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId} > ${test.fullName}`;
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
