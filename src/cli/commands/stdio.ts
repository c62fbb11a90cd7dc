// `a2e stdio`: a host for the agent at the other end of the pipe. Stdout belongs to the protocol, and stderr stays silent:
// some agents never read it, and a full pipe would stop the host.
import { join } from "node:path";
import type { Command } from "commander";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import type { A2EHostConfig } from "../../host/config/schema.ts";
import { serveStdio } from "../../transports/stdio.ts";
import { addConfigOptions, type ConfigChoice, readConfig } from "../config-options.ts";
import { divertConsole } from "../divert-console.ts";
import { examples } from "../help-text.ts";
import { createLogFile } from "../log-file.ts";
import { onStopRequest } from "../stop-requests.ts";
import type { Terminal } from "../terminal.ts";

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .addHelpText(
      "after",
      "\nOne JSON message per line on stdin and stdout. What the host logs is in stdio.log in its data folder.",
    )
    .addHelpText("after", examples(["a2e stdio --workspace .", 'a2e conformance "a2e stdio"']))
    .action(async (options: ConfigChoice) => serveOverStdio((await readConfig(options, terminal)).config, terminal));
}

export async function serveOverStdio(config: A2EHostConfig, terminal: Terminal): Promise<void> {
  const log = createLogFile(join(config.data_dir, "stdio.log"));
  const restoreConsole = divertConsole(log);
  const { input, output } = terminal;
  const host = await startConfiguredHost(config, { log, areSessionsKept: false });
  const session = host.sessions.create();
  const isServed = serveStdio(session, { input, output, limits: host.limits });
  const forget = onStopRequest(terminal, () => void session.close("the host was told to stop", host.limits.drainMs));
  try {
    await isServed;
    await host.close(0);
  } finally {
    forget();
    restoreConsole();
    // A paused pipe would keep the process alive until the agent closes it.
    input.destroy();
  }
}
