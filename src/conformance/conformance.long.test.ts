// The score of our own host over every transport, which the README shows.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { ConformanceReport } from "./index.ts";
import type { TransportKind } from "./link.ts";
import { allTransports, knownFailures, renderScores, runReferenceHost } from "./reference-run.suite.ts";

const reports = new Map<TransportKind, ConformanceReport>();

test.each(allTransports)("our host meets every requirement over %s", { timeout: 600_000 }, async (transport) => {
  const report = await runReferenceHost(transport);
  reports.set(transport, report);
  const unmet = report.results.filter(({ status }) => status !== "passed").map(({ id }) => id);
  expect(unmet.toSorted()).toEqual([...knownFailures.keys()].toSorted());
});

test("the score in the README is that of the last run; `npx tsx scripts/score.ts` writes it", async () => {
  expect(await readFile(new URL("../../README.md", import.meta.url), "utf8")).toContain(renderScores(reports));
});
