// `a2e stdio`: a host for the agent at the other end of the pipe. Stdout belongs to the protocol, and stderr stays silent:
// some agents never read it, and a full pipe would stop the host.
import { userInfo } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { serveStdio } from "../../transports/stdio/stdio.ts";
import { examples } from "../help-text.ts";
import { addConfigOptions, type ConfigChoice, readConfig } from "../hosting/config-options.ts";
import { divertConsole } from "../hosting/divert-console.ts";
import { createLogFile } from "../hosting/log-file.ts";
import { onStopRequest } from "../hosting/stop-requests.ts";
import { surviveRejections } from "../hosting/survive-rejections.ts";
import type { Terminal } from "../terminal.ts";

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .addHelpText(
      "after",
      "\nA JSON message per line on stdin and stdout. The host logs to stdio.log in its data folder.",
    )
    .addHelpText("after", examples(["a2e stdio --workspace .", 'a2e conformance "a2e stdio"']))
    .action(async (options: ConfigChoice) => serveOverStdio((await readConfig(options, terminal)).config, terminal));
}

/** After a request to stop, the host waits this long for a slow agent to read the last lines. */
const lastLinesMs = 1_000;

export async function serveOverStdio(config: A2EHostConfig, terminal: Terminal): Promise<void> {
  const log = createLogFile(join(config.data_dir, "stdio.log"));
  const restore = [divertConsole(log), surviveRejections(log)];
  const unread = new AbortController();
  try {
    const host = await startConfiguredHost(config, { log, areSessionsKept: false, user: userInfo().username });
    const session = host.sessions.create();
    const input = terminal.openText();
    // A paused pipe would keep the process alive until the agent closes it.
    restore.push(() => input.destroy());
    const { output } = terminal;
    const isServed = serveStdio(session, { input, output, limits: host.limits, signal: unread.signal });
    const stop = async () => {
      await session.close("the host was told to stop", host.limits.drainMs);
      setTimeout(() => unread.abort(), lastLinesMs).unref();
    };
    restore.push(onStopRequest(terminal, () => void stop()));
    await isServed;
    await host.close(0);
  } finally {
    for (const undo of restore) undo();
  }
  // Unread output would keep the process alive as well.
  if (unread.signal.aborted) process.exit(terminal.exitCode);
}
