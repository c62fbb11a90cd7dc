#!/usr/bin/env node
import { runCli } from "./run.ts";
import { createProcessTerminal } from "./terminal.ts";

const exitCode = await runCli(process.argv.slice(2), createProcessTerminal());

// What was said goes out first. Then the command is over, whatever timers and sockets tools and plugins have left.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write("", () => resolve()));
}
process.exit(exitCode);
