// `a2e serve`: a host behind HTTP, until it is told to stop.
import type { Command } from "commander";
import { type ConfiguredServer, startConfiguredServer } from "../../compose/configured-server.ts";
import type { A2EHostConfig } from "../../host/config/schema.ts";
import { createLogger, type Logger } from "../../host/logger.ts";
import { addConfigOptions, type ConfigChoice, parsePort, readConfig } from "../config-options.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError, messageOf } from "../failure.ts";
import { examples } from "../help-text.ts";
import { onStopRequest } from "../stop-requests.ts";
import type { Terminal } from "../terminal.ts";
import { renderWelcome } from "../welcome.ts";

interface ServeOptions extends ConfigChoice {
  quiet?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .option("--host <address>", "address to listen on (default: 127.0.0.1); others need a token")
    .option("-p, --port <port>", "port to listen on (default: 8765); 0 takes any free one", parsePort)
    .option("-q, --quiet", "print nothing but warnings and errors")
    .addHelpText(
      "after",
      examples([
        "a2e serve",
        "a2e serve --port 9001 --config my.yaml",
        "A2E_AUTH_TOKEN=$(openssl rand -hex 16) a2e serve --host 0.0.0.0",
      ]),
    )
    .action((options: ServeOptions) => serve(options, terminal));
}

async function serve(options: ServeOptions, terminal: Terminal): Promise<void> {
  const { config, path } = await readConfig(options, terminal);
  if (config.transport.type === "stdio") {
    const { serveOverStdio } = await import("./stdio.ts");
    return serveOverStdio(config, terminal);
  }
  if (config.transport.type === "direct") {
    throw new CliError("transport.type is direct: such a host lives in the program that starts it", {
      exitCode: exitCodes.usage,
      hint: "Set transport.type to http, or leave it out.",
    });
  }
  const server = await start(config, createLog(options, terminal), terminal);
  if (!options.quiet) terminal.print(renderWelcome(server, config, path, terminal));
  await stopped(server, options, terminal);
}

function createLog({ quiet = false }: ServeOptions, terminal: Terminal): Logger {
  const log = createLogger((line) => terminal.note(line.trimEnd()));
  return quiet ? { ...log, info() {} } : log;
}

async function start(config: A2EHostConfig, log: Logger, terminal: Terminal): Promise<ConfiguredServer> {
  try {
    return await startConfiguredServer(config, { log });
  } catch (cause) {
    const { code } = ((cause as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (code !== "EADDRINUSE" && code !== "EACCES" && code !== "EADDRNOTAVAIL") throw cause;
    const port = config.server.port < 65_535 ? Math.max(config.server.port + 1, 1024) : 0;
    const hint = code === "EADDRNOTAVAIL" ? undefined : `For example: ${terminal.program} serve --port ${port}`;
    throw new CliError(messageOf(cause), { cause, ...(hint === undefined ? {} : { hint }) });
  }
}

/** Resolves when the host has ended: calls in flight finish first, unless the user asks twice. */
function stopped(server: ConfiguredServer, { quiet }: ServeOptions, terminal: Terminal): Promise<void> {
  return new Promise((resolve, reject) => {
    const forget = onStopRequest(terminal, () => {
      const seconds = server.host.limits.drainMs / 1000;
      if (!quiet) terminal.note(`Stopping; calls in flight have up to ${seconds} s. Ctrl-C again ends them now.`);
      server.close().then(() => {
        forget();
        if (!quiet) terminal.note("Stopped.");
        resolve();
      }, reject);
    });
  });
}
