// npm run bench: every benchmark, or those named, as a table or as JSON.
import { readFile, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { benchmark as auth } from "./auth.ts";
import { benchmark as chains } from "./chains.ts";
import { benchmark as direct } from "./direct.ts";
import { benchmark as durability } from "./durability.ts";
import { benchmark as env } from "./env.ts";
import { benchmark as fanout } from "./fanout.ts";
import { benchmark as fork } from "./fork.ts";
import { benchmark as http } from "./http.ts";
import type { Benchmark } from "./lib/definition.ts";
import { type BarResult, judge, toTable } from "./lib/report.ts";
import { canPin, runRounds } from "./lib/rounds.ts";
import { benchmark as mcp } from "./mcp.ts";
import { benchmark as memory } from "./memory.ts";
import { benchmark as pacing } from "./pacing.ts";
import { benchmark as proc } from "./proc.ts";
import { benchmark as sandbox } from "./sandbox.ts";
import { benchmark as sessions } from "./sessions.ts";
import { benchmark as stdio } from "./stdio.ts";

const benchmarks: readonly Benchmark[] = [
  direct,
  stdio,
  http,
  sessions,
  fanout,
  env,
  memory,
  fork,
  durability,
  pacing,
  proc,
  mcp,
  chains,
  sandbox,
  auth,
];

const help = `Usage: npm run bench -- [id …] [options]

Benchmarks:
${benchmarks.map(({ id, title }) => `  ${id.padEnd(12)}${title}`).join("\n")}

Options:
  --rounds <n>   rounds to alternate through (default 5; fewer are for trying things out)
  --ms <n>       length of a round in milliseconds (default 700)
  --profile <d>  write CPU profiles of all processes into folder <d>; slows everything down
  --save         write the results into bench/results.json, from which the table in the README is made
  --json         print [{"id","ours","peer","ratio","bar","ok"}] as the last line, and no table
  --help         this text

Exit code 0 where everything could be measured, whether or not a bar was missed; 1 where not; 2 for wrong arguments.
`;

class UsageError extends Error {}

function parseArguments(args: string[]) {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (cause) {
    throw new UsageError((cause as Error).message);
  }
  const { values, positionals } = parsed;
  const chosen = positionals.map((id) => {
    const found = benchmarks.find((benchmark) => benchmark.id === id);
    if (found === undefined) throw new UsageError(`there is no benchmark "${id}"`);
    return found;
  });
  return {
    chosen: chosen.length === 0 ? benchmarks : chosen,
    rounds: toCount("rounds", values.rounds),
    ms: toCount("ms", values.ms),
    profile: values.profile === undefined ? {} : { profileFolder: resolve(values.profile) },
    isJson: values.json,
    mustSave: values.save,
    wantsHelp: values.help,
  };
}

function parse(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      rounds: { type: "string", default: "5" },
      ms: { type: "string", default: "700" },
      profile: { type: "string" },
      json: { type: "boolean", default: false },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
}

function toCount(name: string, given: string): number {
  const count = Number(given);
  if (!Number.isInteger(count) || count < 1)
    throw new UsageError(`--${name} takes a whole number above 0, not "${given}"`);
  return count;
}

async function main(): Promise<void> {
  const { chosen, rounds, ms, profile, isJson, mustSave, wantsHelp } = parseArguments(process.argv.slice(2));
  if (wantsHelp) return void process.stdout.write(help);
  if (!canPin())
    process.stderr.write("taskset is missing: nothing is pinned, so expect stdio to be slow and unsteady\n");
  const results: BarResult[] = [];
  for (const benchmark of chosen) {
    const samples = await runRounds(benchmark, {
      rounds,
      ms,
      ...profile,
      progress: (text) => process.stderr.write(`${text}\n`),
    });
    const judged = judge(benchmark, samples);
    results.push(...judged);
    if (!isJson) process.stdout.write(`${toTable(benchmark, samples, judged)}\n`);
  }
  if (mustSave) await saveResults(results);
  if (isJson) process.stdout.write(`${JSON.stringify(results)}\n`);
}

/** Results of benchmarks that did not run this time stay as they are. */
async function saveResults(results: readonly BarResult[]): Promise<void> {
  const path = resolve("bench/results.json");
  const known = JSON.parse(await readFile(path, "utf8").catch(() => "[]")) as BarResult[];
  const byId = new Map([...known, ...results].map((result) => [result.id, result]));
  await writeFile(path, `${JSON.stringify([...byId.values()], undefined, 2)}\n`);
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(isUsage ? `${error.message}\n\n${help}` : `${(error as Error).message}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
