// Runs the conformance suite against our host and writes the score into the README. A test fails if the score is out of
// date.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { ConformanceReport } from "../src/conformance/index.ts";
import type { TransportKind } from "../src/conformance/link.ts";
import { allTransports, renderScores, runReferenceHost } from "../src/conformance/reference-run.suite.ts";

const readmePath = fileURLToPath(new URL("../README.md", import.meta.url));
const block = /(<!-- conformance:start -->\n)[\s\S]*?(<!-- conformance:end -->)/;

const reports = new Map<TransportKind, ConformanceReport>();
for (const transport of allTransports) reports.set(transport, await runReferenceHost(transport));
const failures = [...reports.values()].flatMap(({ results }) => describeFailures(results));
const table = renderScores(reports);

const readme = await readFile(readmePath, "utf8");
if (!block.test(readme))
  throw new Error("README.md has no block <!-- conformance:start --> … <!-- conformance:end -->");
const updated = readme.replace(block, (_, start: string, end: string) => `${start}${table}\n${end}`);
process.stdout.write(`${[table, ...failures].join("\n")}\n`);
if (updated !== readme) await writeFile(readmePath, updated);

function describeFailures(results: ConformanceReport["results"]): string[] {
  return results
    .filter(({ status }) => status !== "passed")
    .map(({ id, transport, status, message }) => `${id} (${transport}) ${status}: ${message}`);
}
