// The client of a request to /mcp.
import type { PeerCredentials } from "../../../host/authentication.ts";
import type { Identity } from "../../../plugin/principal.ts";
import type { AgentOptions } from "../agent.ts";

/** Its credentials, and the identity that the host has found for them. */
export interface McpCaller extends PeerCredentials {
  readonly identity: Identity;
}

/** The part of the options of an agent that comes from its caller. */
export function agentOf({ token, certificate, identity }: McpCaller): Pick<AgentOptions, "peer" | "token"> {
  const { isAuthenticated } = identity;
  return { token, peer: { isAuthenticated, ...(certificate === undefined ? {} : { certificate }) } };
}
