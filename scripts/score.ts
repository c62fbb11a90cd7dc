// Runs the conformance suite against our host and writes the score into the README; `--check` only compares.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ConformanceReport } from "../src/conformance/index.ts";
import { allTransports, runReferenceHost } from "../src/conformance/reference-run.suite.ts";

const readmePath = fileURLToPath(new URL("../README.md", import.meta.url));
const block = /(<!-- conformance:start -->\n)[\s\S]*?(<!-- conformance:end -->)/;

const rows: string[] = [];
const failures: string[] = [];
for (const transport of allTransports) {
  const { score, results } = await runReferenceHost(transport);
  rows.push(`| ${transport} | ${score.passed} | ${score.failed} | ${score.skipped} |`);
  failures.push(...describeFailures(results));
}
const table = ["| transport | passed | failed | skipped |", "| --- | ---: | ---: | ---: |", ...rows].join("\n");

const readme = await readFile(readmePath, "utf8");
if (!block.test(readme))
  throw new Error("README.md has no block <!-- conformance:start --> … <!-- conformance:end -->");
const updated = readme.replace(block, (_, start: string, end: string) => `${start}${table}\n${end}`);
process.stdout.write(`${[table, ...failures].join("\n")}\n`);
if (process.argv.includes("--check")) {
  if (updated !== readme) {
    process.stderr.write("the score in README.md is out of date: run npx tsx scripts/score.ts\n");
    process.exitCode = 1;
  }
} else if (updated !== readme) await writeFile(readmePath, updated);

function describeFailures(results: ConformanceReport["results"]): string[] {
  return results
    .filter(({ status }) => status !== "passed")
    .map(({ id, transport, status, message }) => `${id} (${transport}) ${status}: ${message}`);
}
