// `a2e sessions`: who is connected to a running host.
import type { Command } from "commander";
import { z } from "zod";
import { messageOf } from "../../protocol/errors.ts";
import type { ClientTls } from "../../transports/client-tls.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { examples } from "../help-text.ts";
import { configFileName, readConfig } from "../hosting/config-options.ts";
import { defaultUrl } from "../hosting/default-url.ts";
import { localUrl, parseUrl } from "../hosting/host-link.ts";
import { fetchHost, ownHostTls } from "../hosting/own-host-tls.ts";
import { toPlainLine } from "../plain-text.ts";
import { printTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface SessionsOptions {
  url?: string;
  token?: string;
  json?: boolean;
}

const sessionList = z.object({
  sessions: z.array(
    z.looseObject({
      handle: z.string(),
      principal: z.string(),
      agent_id: z.string(),
      status: z.string(),
      capabilities: z.array(z.string()),
      created_at: z.number(),
      last_active_at: z.number(),
      calls_in_flight: z.number(),
      readers: z.number(),
    }),
  ),
});

type ListedSession = z.output<typeof sessionList>["sessions"][number];

export function define(command: Command, terminal: Terminal): void {
  command
    .option("-u, --url <url>", `the host (default: ${defaultUrl}, or the address in ${configFileName})`)
    .option("--token <secret>", "token to present (safer: the variable A2E_AUTH_TOKEN)")
    .option("--json", "print the sessions as JSON")
    .addHelpText("after", examples(["a2e sessions", "a2e sessions --url http://10.0.0.7:8765 --json"]))
    .action((options: SessionsOptions) => listSessions(options, terminal));
}

async function listSessions(options: SessionsOptions, terminal: Terminal): Promise<void> {
  const { url, token, tls } = await chooseHost(options, terminal);
  const sessions = await fetchSessions(url, token, tls);
  if (options.json) terminal.print(JSON.stringify(sessions, null, 2));
  else if (sessions.length === 0) terminal.note("No sessions.");
  else printSessions(sessions, terminal);
}

/** The token of this folder's config is for its own host, and sent to no other. */
async function chooseHost(
  { url, token }: SessionsOptions,
  terminal: Terminal,
): Promise<{ url: URL; token: string | undefined; tls?: ClientTls | undefined }> {
  if (url !== undefined) return { url: parseUrl(url), token: token ?? terminal.env.A2E_AUTH_TOKEN };
  const { config } = await readConfig(token === undefined ? {} : { token }, terminal);
  return { url: new URL(localUrl(config)), token: config.auth_token, tls: ownHostTls(config) };
}

async function fetchSessions(url: URL, token: string | undefined, tls?: ClientTls): Promise<ListedSession[]> {
  const failure = (message: string, hint?: string, cause?: unknown) =>
    new CliError(message, { exitCode: exitCodes.unreachable, cause, ...(hint === undefined ? {} : { hint }) });
  const base = url.href.replace(/^ws/, "http").replace(/\/+$/, "");
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  try {
    response = await fetchHost(`${base}/sessions`, { headers, signal: AbortSignal.timeout(10_000) }, tls);
  } catch (cause) {
    const reason = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    throw failure(
      `could not reach a host at ${base}: ${messageOf(reason)}`,
      "Is it running? --url names another.",
      cause,
    );
  }
  if (response.status === 401) throw failure("the host wants a token", "Set A2E_AUTH_TOKEN, or use --token.");
  const parsed = sessionList.safeParse(await response.json().catch(() => undefined));
  if (response.ok && parsed.success) return parsed.data.sessions;
  throw failure(`${base} answered with status ${response.status}; is it a host of this release?`);
}

function printSessions(sessions: readonly ListedSession[], terminal: Terminal): void {
  const now = Date.now() / 1000;
  const rows = sessions.map((session) => [
    toPlainLine(session.handle),
    toPlainLine(session.principal) || "-",
    toPlainLine(session.agent_id) || "-",
    toPlainLine(session.status),
    toPlainLine(session.capabilities.join(",")) || "-",
    renderAge(now - session.created_at),
    renderAge(now - session.last_active_at),
    String(session.calls_in_flight),
    String(session.readers),
  ]);
  const titles = ["SESSION", "PRINCIPAL", "AGENT", "STATUS", "CAPABILITIES", "AGE", "IDLE", "CALLS", "READERS"];
  printTable(titles, rows, terminal);
}

function renderAge(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m`;
}
