#!/usr/bin/env node
import { findNodeProblem } from "./node-version.ts";

const problem = findNodeProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`error: ${problem}\n`);
  process.exit(1);
}

// Only now: an old Node cannot link what is behind these, and would say so with a stack trace.
const { runCli } = await import("./run.ts");
const { createProcessTerminal } = await import("./terminal.ts");

const exitCode = await runCli(process.argv.slice(2), createProcessTerminal());

// What was said goes out first. Then the command is over, whatever timers and sockets tools and plugins have left.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(exitCode);
