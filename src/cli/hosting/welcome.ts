// The output of `a2e serve` when it is ready: its address, capabilities and data folder, and what to do next.
import { relative } from "node:path";
import type { ConfiguredServer } from "../../compose/configured-server.ts";
import { readVersion } from "../../compose/version.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import type { Terminal } from "../terminal.ts";
import { defaultUrl } from "./default-url.ts";
import { localUrl } from "./host-link.ts";

export function renderWelcome(
  server: ConfiguredServer,
  config: A2EHostConfig,
  configPath: string | undefined,
  terminal: Terminal,
): string {
  const { style, cwd, program } = terminal;
  const { host } = server;
  const facts: [string, string][] = [
    ["listens on", style.bold(server.url)],
    ["capabilities", host.capabilities.map((name) => describe(name, server)).join(", ") || "none"],
    ["token", config.auth_token === undefined ? "none needed on this machine" : "required"],
    ["data", shorten(config.data_dir, cwd)],
    ["workspace", shorten(config.workspace_dir, cwd)],
    ["config", configPath === undefined ? `defaults; \`${program} init\` writes a file` : shorten(configPath, cwd)],
  ];
  return [
    `${style.bold("A2E host")} ${config.host_id} ${style.dim(`(a2e ${readVersion()})`)}`,
    "",
    ...facts.map(([name, value]) => `  ${style.dim(name.padEnd(13))} ${value}`),
    "",
    "Make a first call from another terminal:",
    "",
    `  ${style.green(firstCall(server, config, terminal))}`,
    "",
    "Ctrl-C stops the host.",
    "",
  ].join("\n");
}

function describe(capability: string, { host }: ConfiguredServer): string {
  return capability === "tools" ? `tools (${host.tools.list().length})` : capability;
}

function firstCall(
  { host, port }: ConfiguredServer,
  { auth_token, server }: A2EHostConfig,
  { program, env }: Terminal,
): string {
  const reachable = localUrl({ server: { ...server, port } });
  const target = reachable === defaultUrl ? "" : ` --url ${reachable}`;
  const secret = auth_token === undefined || env.A2E_AUTH_TOKEN === auth_token ? "" : "A2E_AUTH_TOKEN=<token> ";
  const isThere = host.tools.get("js_eval") !== undefined;
  return `${secret}${program} ${isThere ? `call${target} js_eval --code "6 * 7"` : `tools${target}`}`;
}

function shorten(path: string, cwd: string): string {
  const shorter = relative(cwd, path);
  return shorter === "" ? "." : shorter.startsWith("..") ? path : `./${shorter}`;
}
