// The identity that a session acts for. The gate decides by principal and never sees tokens.
import type { Amounts } from "./usage.ts";

/** What a credential says about the peer that presented it. Plain JSON: it is stored with the session. */
export interface Identity {
  /**
   * Named by the credential, for example `key:ci-bot`; never claimed by the agent. `token` for the shared token of a
   * host, and "" on a host that lets every agent in.
   */
  readonly id: string;
  readonly isAuthenticated: boolean;
  /** Names of its roles. Undefined for the shared token and on a host without a token, which may do everything. */
  readonly roles?: readonly string[];
  /** In milliseconds since 1970. Later calls are refused until the agent shakes hands again. */
  readonly expiresAt?: number;
  /** The ids of the tokens by which it came, the root first: each of them can be revoked. */
  readonly chain?: readonly string[];
  /** The name of the agent, if the credential states it: it counts instead of the name that the agent claims. */
  readonly agentId?: string;
  /** Budgets of tokens in the chain, each with the id of the token that it is charged to. */
  readonly budgets?: readonly { readonly id: string; readonly budget: Amounts }[];
}

export interface Principal extends Identity {
  /** The name that the agent gave itself in its handshake: a label below the principal, "" if it has none. */
  readonly agentId: string;
}

export const anonymous: Principal = { id: "", agentId: "", isAuthenticated: false };

/** The id of agents that present the shared token of a host. */
export const sharedTokenId = "token";

const ownerPrefix = "principal:";

/**
 * The key under which plugins keep data of an agent; "" for an agent without a name. Two agents of one principal have
 * different keys, and two principals never share a key, no matter which names their agents claim. On a host with one
 * shared token, or without a token, it is the name of the agent.
 */
export function ownerOf({ id, agentId }: Pick<Principal, "id" | "agentId">): string {
  const isShared = id === "" || id === sharedTokenId;
  if (isShared && !agentId.startsWith(ownerPrefix)) return agentId;
  return `${ownerPrefix}${encodeURIComponent(id)}/${agentId}`;
}

/** The principal in a record of an earlier release, whose `id` was the name of the agent. */
export function toPrincipal(stored: Identity & { readonly agentId?: string }): Principal {
  if (stored.agentId !== undefined) return stored as Principal;
  return { ...stored, id: stored.isAuthenticated ? sharedTokenId : "", agentId: stored.id };
}
