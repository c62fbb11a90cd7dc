#!/usr/bin/env node
import { findNodeProblem } from "./node-version.ts";

const problem = findNodeProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`error: ${problem}\n`);
  process.exit(1);
}

// Only now: an old Node cannot link these modules, and would print a stack trace.
const { runCli } = await import("./run.ts");
const { createProcessTerminal } = await import("./terminal.ts");

const exitCode = await runCli(process.argv.slice(2), createProcessTerminal());

// Flushes the output, then exits, even if tools and plugins have left timers and sockets open.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(exitCode);
