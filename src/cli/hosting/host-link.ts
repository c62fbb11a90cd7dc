// The host that a command uses: the named host, a host that runs on this machine, or a host within the command itself.
import type { Command } from "commander";
import { A2EClient } from "../../client/client.ts";
import { A2EConnectionError } from "../../client/errors.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { createLogger } from "../../plugin/logger.ts";
import { messageOf } from "../../protocol/errors.ts";
import type { Transport } from "../../protocol/transport.ts";
import { createMemorySnapshotStore } from "../../stores/snapshots/memory-snapshot-store.ts";
import type { ClientTls } from "../../transports/client-tls.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { type ChosenConfig, readConfig } from "./config-options.ts";
import { defaultUrl } from "./default-url.ts";
import { fetchHost, ownHostTls } from "./own-host-tls.ts";

export interface HostChoice {
  url?: string;
  config?: string;
  token?: string;
}

export interface HostLink {
  readonly client: A2EClient;
  close(): Promise<void>;
}

export function addHostOptions(command: Command): Command {
  return command
    .option(
      "-u, --url <url>",
      "a running host (default: the host of this folder's config, or a host within this command)",
    )
    .option("-c, --config <file>", "start a host with this config within this command")
    .option("--token <secret>", "token to present (safer: the variable A2E_AUTH_TOKEN)");
}

/** Prints on stderr which host is used. Rejects with a CliError if no host can be reached. */
export async function linkToHost(
  choice: HostChoice,
  terminal: Terminal,
  capabilities: readonly string[] = ["tools"],
): Promise<HostLink> {
  const { url, config } = choice;
  if (url !== undefined && config !== undefined) {
    throw new CliError("--url and --config exclude each other", { exitCode: exitCodes.usage });
  }
  if (url !== undefined)
    return linkToUrl(parseUrl(url), choice.token ?? terminal.env.A2E_AUTH_TOKEN, terminal, capabilities);
  const chosen = await readConfig(choice, terminal);
  const local = localUrl(chosen.config);
  const tls = ownHostTls(chosen.config);
  if (config === undefined && (await isServing(local, tls))) {
    terminal.note(terminal.noteStyle.dim(`using the host at ${local}`));
    return linkToUrl(new URL(local), chosen.config.auth_token, terminal, capabilities, tls);
  }
  return linkToEmbedded(chosen, terminal, capabilities);
}

/**
 * The address of a host with this config from its own machine; 0.0.0.0 is replaced by an address that can be connected
 * to.
 */
export function localUrl({ server: { host, port, tls } }: Pick<A2EHostConfig, "server">): string {
  const address = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http${tls.cert === undefined ? "" : "s"}://${address.includes(":") ? `[${address}]` : address}:${port}`;
}

export function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.username || url?.password)
    throw new CliError("the address of a host has no place for a name and a password", {
      exitCode: exitCodes.usage,
      hint: "Set A2E_AUTH_TOKEN, or use --token.",
    });
  if (url !== undefined && /^(https?|wss?):$/.test(url.protocol)) return url;
  const guess = /^[\w.-]+:\d+$/.test(text) ? `; did you mean http://${text}?` : "";
  throw new CliError(`${JSON.stringify(text)} is not a URL of a host: expected a URL such as ${defaultUrl}${guess}`, {
    exitCode: exitCodes.usage,
  });
}

/** On this machine an answer takes a millisecond, unless the host is overloaded. */
const healthTimeoutMs = 3_000;
/** A user at a terminal should not wait long for a host that has ended. */
const giveUpAfterMs = 10_000;

async function isServing(url: string, tls: ClientTls | undefined): Promise<boolean> {
  try {
    const response = await fetchHost(`${url}/health`, { signal: AbortSignal.timeout(healthTimeoutMs) }, tls);
    const { status } = (await response.json()) as { status?: unknown };
    return response.ok && status === "ok";
  } catch (cause) {
    if (!(cause instanceof DOMException)) return false;
    // A process listens there. A host within this command would not be the host that the user meant.
    throw new CliError(`the process that listens at ${url} does not answer`, {
      exitCode: exitCodes.unreachable,
      hint: "Is the host overloaded? --url names another, --config starts a host within this command.",
      cause,
    });
  }
}

async function linkToUrl(
  url: URL,
  secret: string | undefined,
  { program }: Terminal,
  capabilities: readonly string[],
  tls?: ClientTls,
): Promise<HostLink> {
  const transport = await createTransport(url, secret, tls);
  try {
    const client = await connect(transport, secret, capabilities);
    return { client, close: () => client.disconnect() };
  } catch (cause) {
    const isRefused = cause instanceof A2EConnectionError && cause.code === "handshake_failed";
    throw new CliError(messageOf(cause), {
      exitCode: exitCodes.unreachable,
      hint: isRefused
        ? "If the host wants a token, set A2E_AUTH_TOKEN."
        : `Is the host running? \`${program} serve\` starts a host; without --url this command uses its own.`,
      cause,
    });
  }
}

async function createTransport(url: URL, token: string | undefined, tls: ClientTls | undefined): Promise<Transport> {
  const options = {
    url: url.href,
    reconnect: { giveUpAfterMs },
    ...(token === undefined ? {} : { token }),
    ...(tls === undefined ? {} : { tls }),
  };
  if (url.protocol.startsWith("ws")) {
    return (await import("../../transports/websocket/websocket-node.ts")).createNodeWebSocketTransport(options);
  }
  return (await import("../../transports/http/http-node.ts")).createNodeHttpTransport(options);
}

async function linkToEmbedded(
  { config, path }: ChosenConfig,
  terminal: Terminal,
  capabilities: readonly string[],
): Promise<HostLink> {
  const warn = createLogger((line) => terminal.note(line.trimEnd()));
  // The host ends with the command, so its snapshots could not be read afterwards.
  const parts = { snapshots: createMemorySnapshotStore() };
  const host = await startConfiguredHost(config, { log: { ...warn, info() {} }, parts, areSessionsKept: false });
  const origin = path === undefined ? "defaults" : path;
  terminal.note(
    terminal.noteStyle.dim(`using a host within this command (${origin}; workspace ${config.workspace_dir})`),
  );
  const close = () => host.close(0);
  try {
    const client = await connect(
      createDirectTransport(() => host.sessions.create()),
      config.auth_token,
      capabilities,
    );
    return { client, close: () => client.disconnect().finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

function connect(transport: Transport, token: string | undefined, capabilities: readonly string[]): Promise<A2EClient> {
  return A2EClient.connect({
    transport,
    agentId: "a2e-cli",
    capabilities,
    ...(token === undefined ? {} : { authToken: token }),
  });
}
