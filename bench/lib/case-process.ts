// The process of one case. Started by `rounds.ts`, which tells it when to work: only one case works at any time.
import type { Benchmark, RunningCase } from "./definition.ts";

export type CaseCommand = { do: "round"; ms: number } | { do: "close" };
export type CaseReply = { sample?: unknown; error?: string };

const [benchmarkId = "", caseId = ""] = process.argv.slice(2);

const reply = (message: CaseReply) => process.send?.(message);

async function start(): Promise<RunningCase> {
  const module = (await import(`../${benchmarkId}.js`)) as { benchmark: Benchmark };
  const found = module.benchmark.cases[caseId];
  if (found === undefined) throw new Error(`benchmark "${benchmarkId}" has no case "${caseId}"`);
  return found.start();
}

async function obey(running: RunningCase, command: CaseCommand): Promise<CaseReply> {
  if (command.do === "round") return { sample: await running.round(command.ms) };
  await running.close();
  return {};
}

try {
  const running = await start();
  process.on("message", (command: CaseCommand) => {
    obey(running, command).then(reply, (error: Error) => reply({ error: String(error.stack ?? error) }));
  });
  process.on("disconnect", () => process.exit());
  reply({});
} catch (error) {
  reply({ error: String((error as Error).stack ?? error) });
}
