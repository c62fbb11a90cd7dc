#!/usr/bin/env node
import { runCli } from "./run.ts";
import { createProcessTerminal } from "./terminal.ts";

process.exitCode = await runCli(process.argv.slice(2), createProcessTerminal());
