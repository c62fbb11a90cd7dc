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
  const { id, isAuthenticated } = identity;
  return {
    token,
    peer: { ...(isAuthenticated ? { principalId: id } : {}), ...(certificate === undefined ? {} : { certificate }) },
  };
}

/**
 * Names a caller: its principal, and the chain of tokens by which it came. A narrowed token has the id of its parent and
 * a longer chain, so it never reaches a session of its parent.
 */
export function keyOfCaller({ identity: { id, chain = [id] } }: McpCaller): string {
  return JSON.stringify([id, chain]);
}
