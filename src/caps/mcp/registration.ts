// Checks which servers agents may register. An agent that names a program runs it, and an agent that names an address
// makes the host connect to it: only programs and addresses that the operator has listed are allowed.
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../protocol/json.ts";
import type { ParsedMcpOptions } from "./options.ts";
import { isUriOnList, matchesPattern } from "./patterns.ts";
import { badConfig, registrationForbidden } from "./problems.ts";
import { mcp } from "./protocol.ts";
import { type Endpoint, type ServerConfig, serverIdSchema, serverSettings, toServerConfig } from "./server-config.ts";

/** Parses the config of an agent. Unknown fields are ignored, since SDKs send further fields. */
export function parseRegistration(given: JsonObject): { id: string; settings: JsonObject } {
  const known = Object.entries(given).filter(([key, value]) => key in serverSettings.shape && value !== null);
  // Models of the Python SDK send an empty `transport` if the agent gave none.
  const settings = Object.fromEntries(known.filter(([key, value]) => !(key === "transport" && value === "")));
  const id = typeof given.server_id === "string" && given.server_id !== "" ? given.server_id : createServerId(given);
  const parsed = serverIdSchema.safeParse(id);
  if (!parsed.success) throw badConfig(`server_id: ${parsed.error.issues[0]?.message ?? "is not valid"}`);
  return { id, settings };
}

function createServerId({ name }: JsonObject): string {
  const base =
    typeof name === "string"
      ? name
          .replaceAll(/[^A-Za-z0-9]+/g, "-")
          .replace(/^-|-$/g, "")
          .slice(0, 20)
      : "";
  return base === "" ? `server-${randomUUID().slice(0, 8)}` : base;
}

export function toOwnConfig(id: string, given: JsonObject): ServerConfig {
  const parsed = serverSettings.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw badConfig(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`);
  }
  try {
    return toServerConfig(id, parsed.data, true);
  } catch (error) {
    throw badConfig((error as Error).message);
  }
}

/** Throws if the operator does not allow agents to register this server. */
export function checkRegistration(endpoint: Endpoint, { registration }: ParsedMcpOptions): void {
  if (endpoint.transport !== "stdio") {
    if (registration.urls.length === 0 || !isUriOnList(registration.urls, endpoint.url.href))
      throw registrationForbidden("a server at this address", "urls");
    // A named file would be read by the host, and a named identity provider would receive its content.
    if (endpoint.oauth?.identity_provider !== undefined)
      throw mcp.error("forbidden", "oauth.identity_provider is allowed only for servers of the host's config");
    return;
  }
  if (!registration.commands.some((pattern) => isAllowedCommand(pattern, endpoint.cmd)))
    throw registrationForbidden("a server that runs this program", "commands");
  // Variables such as NODE_OPTIONS or LD_PRELOAD make any program run anything.
  const unlisted = Object.keys(endpoint.env).find((name) => !registration.env.includes(name));
  if (unlisted !== undefined) throw registrationForbidden(`a server with the variable ${unlisted}`, "env");
  // In another folder, a program without a path or a script would be a different one.
  if (endpoint.cwd !== "") throw registrationForbidden("a server with its own folder (cwd)", "commands");
}

function isAllowedCommand(pattern: readonly string[], cmd: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "...";
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  if (cmd.length < fixed.length || (!isOpen && cmd.length > fixed.length)) return false;
  return fixed.every((part, at) => matchesPattern(part, cmd[at] ?? ""));
}
