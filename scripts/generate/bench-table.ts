// The table of benchmarks in the README, from the results of the last run that was saved.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

interface SavedResult {
  readonly id: string;
  readonly ratio: number;
  readonly wanted: string;
  readonly claim?: string;
}

const block = /(<!-- bench:start -->\n)[\s\S]*?(<!-- bench:end -->)/;

/** The README with its table brought up to date; undefined in a tree that has no README or no results. */
export async function renderReadme(root: string): Promise<string | undefined> {
  const [readme, results] = ["README.md", "bench/results.json"].map((name) => join(root, name));
  if (!existsSync(readme ?? "") || !existsSync(results ?? "")) return undefined;
  const saved = JSON.parse(await readFile(results ?? "", "utf8")) as SavedResult[];
  const text = await readFile(readme ?? "", "utf8");
  if (!block.test(text)) throw new Error("README.md has no block <!-- bench:start --> … <!-- bench:end -->");
  return text.replace(block, (_, start: string, end: string) => `${start}${renderTable(saved)}\n${end}`);
}

function renderTable(results: readonly SavedResult[]): string {
  const rows = results
    .filter(({ claim }) => claim !== undefined)
    .map(({ claim, ratio, wanted }) => `| ${claim} | ${toText(ratio)} | ${wanted} |`);
  return ["| measured | ratio | we want |", "| --- | ---: | ---: |", ...rows].join("\n");
}

function toText(ratio: number): string {
  return ratio >= 100 ? Math.round(ratio).toLocaleString("en-US") : String(Number(ratio.toPrecision(3)));
}
