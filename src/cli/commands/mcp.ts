// `a2e mcp`: a host for the MCP client at the other end of the pipe. Stdout belongs to the protocol, as with `a2e stdio`.
import { join } from "node:path";
import type { Command } from "commander";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { readVersion } from "../../compose/version.ts";
import { serveMcpOverStdio } from "../../federation/mcp/stdio.ts";
import { examples } from "../help-text.ts";
import { addConfigOptions, type ConfigChoice, readConfig } from "../hosting/config-options.ts";
import { divertConsole } from "../hosting/divert-console.ts";
import { createLogFile } from "../hosting/log-file.ts";
import { onStopRequest } from "../hosting/stop-requests.ts";
import { surviveRejections } from "../hosting/survive-rejections.ts";
import type { Terminal } from "../terminal.ts";

interface McpOptions extends ConfigChoice {
  agent?: string;
}

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .option(
      "--agent <name>",
      "agent whose memory and plans the client gets (default: an agent with the client's own name)",
    )
    .addHelpText(
      "after",
      "\nThe client starts this command itself. The host logs to mcp.log in its data folder.\n" +
        "A host that runs already (a2e serve) speaks MCP over HTTP at /mcp.",
    )
    .addHelpText("after", examples(["a2e mcp --data-dir ~/.a2e --workspace ~/notes"]))
    .action((options: McpOptions) => serve(options, terminal));
}

async function serve(options: McpOptions, terminal: Terminal): Promise<void> {
  const { config } = await readConfig(options, terminal);
  const log = createLogFile(join(config.data_dir, "mcp.log"));
  const restore = [divertConsole(log), surviveRejections(log)];
  const { input, output } = terminal;
  try {
    const host = await startConfiguredHost(config, { log, areSessionsKept: false });
    const served = serveMcpOverStdio(host, {
      input,
      output,
      version: readVersion(),
      // A user who may start a host with this config may also use it.
      token: config.auth_token ?? "",
      agentId: options.agent,
    });
    restore.push(onStopRequest(terminal, () => void host.close().then(() => served.close())));
    await served.ended;
    await served.close();
    await host.close(0);
  } finally {
    for (const undo of restore) undo();
    // A paused pipe would keep the process alive until the client closes it.
    input.destroy();
  }
}
