// `a2e serve`: a host behind HTTP, until it receives a request to stop.
import type { Command } from "commander";
import { type ConfiguredServer, startConfiguredServer } from "../../compose/configured-server.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { createLogger, type Logger } from "../../plugin/logger.ts";
import { messageOf } from "../../protocol/errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { addConfigOptions, type ConfigChoice, parsePort, readConfig } from "../hosting/config-options.ts";
import { onStopRequest } from "../hosting/stop-requests.ts";
import { surviveRejections } from "../hosting/survive-rejections.ts";
import { renderWelcome } from "../hosting/welcome.ts";
import type { Terminal } from "../terminal.ts";

interface ServeOptions extends ConfigChoice {
  quiet?: boolean;
}

export function define(command: Command, terminal: Terminal): void {
  addConfigOptions(command)
    .option("--host <address>", "address to listen on (default: 127.0.0.1); others need a token")
    .option("-p, --port <port>", "port to listen on (default: 8765); 0 takes any free port", parsePort)
    .option("-q, --quiet", "print only warnings and errors")
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
  const log = createLog(options, terminal);
  const say = (text: string) => (options.quiet ? undefined : terminal.note(text));
  const restore = [surviveRejections(log)];
  // Before anything starts: a request to stop during the start still ends the host in order.
  let server: ConfiguredServer | undefined;
  const isToldToStop = new Promise<void>((resolve) => {
    const seconds = config.global_limits.drain_ms / 1000;
    const stop = () => {
      say(`Stopping; calls in flight have up to ${seconds} s. Ctrl-C again ends them now.`);
      resolve();
    };
    const hurry = () => {
      void server?.close(0);
      return server !== undefined;
    };
    restore.push(onStopRequest(terminal, stop, hurry));
  });
  try {
    server = await start(config, log, terminal);
    if (!options.quiet) terminal.print(renderWelcome(server, config, path, terminal));
    await isToldToStop;
    await server.close();
    say("Stopped.");
  } finally {
    for (const undo of restore) undo();
  }
}

function createLog({ quiet = false }: ServeOptions, terminal: Terminal): Logger {
  const log = createLogger((line) => terminal.note(line.trimEnd()));
  return quiet ? { ...log, info() {} } : log;
}

async function start(config: A2EHostConfig, log: Logger, terminal: Terminal): Promise<ConfiguredServer> {
  try {
    return await startConfiguredServer(config, { log });
  } catch (cause) {
    const { code, syscall } = ((cause as Error).cause ?? {}) as NodeJS.ErrnoException;
    if (syscall !== "listen") throw cause;
    const port = config.server.port < 65_535 ? Math.max(config.server.port + 1, 1024) : 0;
    const hint =
      code !== "EADDRINUSE" && code !== "EACCES" ? undefined : `For example: ${terminal.program} serve --port ${port}`;
    throw new CliError(messageOf(cause), { cause, ...(hint === undefined ? {} : { hint }) });
  }
}
