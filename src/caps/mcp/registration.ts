// Which servers agents may bring along. To name a program is to run it, and to name an address is to send the host there:
// nothing is allowed that the operator has not listed.
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../protocol/json.ts";
import type { ParsedMcpOptions } from "./options.ts";
import { isUriOnList, matchesPattern } from "./patterns.ts";
import { badConfig, registrationForbidden } from "./problems.ts";
import { mcp } from "./protocol.ts";
import { type Endpoint, type ServerConfig, serverIdSchema, serverSettings, toServerConfig } from "./server-config.ts";

/** Reads what an agent sent. Fields that no server has are left out: SDKs send more than they mean. */
export function parseRegistration(given: JsonObject): { id: string; settings: JsonObject } {
  const known = Object.entries(given).filter(([key, value]) => key in serverSettings.shape && value !== null);
  // Python's models fill in what their agent did not say.
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

/** Throws where the operator does not let agents have this server. */
export function checkRegistration(endpoint: Endpoint, { registration }: ParsedMcpOptions): void {
  if (endpoint.transport !== "stdio") {
    if (registration.urls.length === 0 || !isUriOnList(registration.urls, endpoint.url.href))
      throw registrationForbidden("a server at this address", "urls");
    // To name a file is to have the host read it, and to name an identity provider is to have it sent there.
    if (endpoint.oauth?.identity_provider !== undefined)
      throw mcp.error("forbidden", "oauth.identity_provider is for servers of the host's config alone");
    return;
  }
  if (!registration.commands.some((pattern) => isAllowedCommand(pattern, endpoint.cmd)))
    throw registrationForbidden("a server that is this program", "commands");
  // Variables such as NODE_OPTIONS or LD_PRELOAD make any program run anything.
  const unlisted = Object.keys(endpoint.env).find((name) => !registration.env.includes(name));
  if (unlisted !== undefined) throw registrationForbidden(`a server with the variable ${unlisted}`, "env");
  // A program that is named without its folder, or a script, would be another one elsewhere.
  if (endpoint.cwd !== "") throw registrationForbidden("a server with a folder of its own", "commands");
}

function isAllowedCommand(pattern: readonly string[], cmd: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === "...";
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  if (cmd.length < fixed.length || (!isOpen && cmd.length > fixed.length)) return false;
  return fixed.every((part, at) => matchesPattern(part, cmd[at] ?? ""));
}
