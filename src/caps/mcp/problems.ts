// The errors of this capability, worded in one place.

import { nearest } from "../../machinery/nearest.ts";
import type { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { mcpLimits } from "./limits.ts";
import { mcp } from "./protocol.ts";

export function serverNotFound(server_id: string, known: Iterable<string>): A2EError {
  const meant = nearest(server_id, known);
  const hint = meant === undefined ? "mcp/server/list/req lists the servers" : `did you mean "${meant}"?`;
  const shown = server_id.slice(0, 64);
  return mcp.error("mcp_server_not_found", `there is no MCP server "${shown}" here; ${hint}`, {
    detail: { server_id: shown },
  });
}

export function serverUnavailable(server_id: string, reason: string, detail: JsonObject = {}): A2EError {
  return mcp.error("mcp_server_unavailable", `MCP server "${server_id}" is not available: ${cut(reason)}`, {
    detail: { server_id, ...detail },
  });
}

export function transportError(server_id: string, reason: string, detail: JsonObject = {}): A2EError {
  return mcp.error("mcp_transport_error", `the link to MCP server "${server_id}" failed: ${cut(reason)}`, {
    detail: { server_id, ...detail },
  });
}

export function protocolError(server_id: string, reason: string, answered: JsonObject = {}): A2EError {
  return mcp.error("mcp_protocol_error", cut(reason), { detail: { server_id, ...answered } });
}

export function capabilityMissing(server_id: string, what: string): A2EError {
  return mcp.error("mcp_capability_missing", `MCP server "${server_id}" has no ${what}`, { detail: { server_id } });
}

export function resourceNotFound(uri: string, server_id = ""): A2EError {
  const where = server_id === "" ? "no MCP server of this session has" : `MCP server "${server_id}" does not have`;
  return mcp.error("mcp_resource_not_found", `${where} "${uri.slice(0, 500)}"`, {
    detail: { uri: uri.slice(0, 500), server_id },
  });
}

export function promptNotFound(name: string, server_id = ""): A2EError {
  const shown = name.slice(0, 200);
  const where =
    server_id === "" ? "no MCP server of this session has it" : `MCP server "${server_id}" does not have it`;
  return mcp.error("mcp_prompt_not_found", `prompt "${shown}": ${where}`, {
    detail: { name: shown, server_id },
  });
}

export function toolNotFound(server_id: string, tool: string): A2EError {
  return mcp.error("mcp_tool_not_found", `MCP server "${server_id}" no longer has the tool "${tool}"`, {
    detail: { server_id, tool },
  });
}

export function badConfig(message: string): A2EError {
  return mcp.error("schema_violation", `config.${message}`, { detail: { issues: [message] } });
}

export function registrationForbidden(what: string, option: string): A2EError {
  return mcp.error(
    "forbidden",
    `this host does not let agents register ${what}; its operator can allow it with registration.${option}`,
    { detail: { option: `registration.${option}` } },
  );
}

export function limitReached(limit: string, value: number): A2EError {
  return mcp.error("forbidden", `the host allows no more than ${value} (${limit})`, { detail: { limit, value } });
}

export function samplingRefused(server_id: string, reason: string): A2EError {
  return mcp.error("mcp_sampling_refused", cut(reason), { detail: { server_id } });
}

/** Texts of a server may be of any length. */
export function cut(text: string, maxLength: number = mcpLimits.maxTextLength): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}
