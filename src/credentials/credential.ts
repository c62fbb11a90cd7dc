// The port of a kind of credential: shared token, API key, JWT, client certificate, narrowed token. A kind proves who
// presents it; what that principal may do is decided elsewhere, by its roles, scopes and caveats.
import type { Identity } from "../plugin/principal.ts";
import type { Awaitable } from "../protocol/awaitable.ts";
import type { Caveats } from "../tokens/caveats.ts";
import type { ChainBudget } from "../tokens/token-root.ts";

/** What a peer has presented, in its handshake or its connection. */
export interface Presented {
  /** Empty if there is none. */
  readonly token: string;
  /** The peer's own name for itself. Never proof of anything. */
  readonly agentId: string;
  /** The names of this host and its addresses, to which a credential may be bound. */
  readonly audience?: readonly string[];
  /** Present only if the TLS connection has verified it against the configured authority. */
  readonly certificate?: VerifiedCertificate;
}

/** What a verified certificate says about its holder. */
export interface VerifiedCertificate {
  /** Empty if it has none or several. */
  readonly common_name: string;
  /** With their kinds, as in `DNS:agent.example` and `URI:spiffe://example/agent`. */
  readonly alternative_names: readonly string[];
  /** In milliseconds since 1970. */
  readonly expires_at: number;
}

/**
 * What a credential proves. Its id is `token`, `key:ci-bot`, `https://as.example|alice` or `cert:worker-7`, for example.
 * Plain JSON, like the identity that it extends.
 */
export interface ProvenIdentity extends Identity {
  readonly isAuthenticated: true;
  readonly roles: readonly string[];
  /** Further restrict the roles; undefined for no restriction. */
  readonly scopes?: readonly string[];
  /** In milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The id of the principal, then those of the tokens that led here, oldest first: audited, charged, revocable. */
  readonly chain: readonly string[];
  /** For people. */
  readonly label?: string;
  /** The agent's name, if the credential states it. */
  readonly agentId?: string;
  /** Of a narrowed token: all of them apply. */
  readonly caveats?: readonly Caveats[];
  /** Budgets of ids in the chain. The budgets in `caveats` are among them. */
  readonly budgets?: readonly ChainBudget[];
}

/** `server_error` means that this host cannot decide now, for example because keys cannot be fetched: try again later. */
export type RefusalReason = "missing" | "wrong" | "expired" | "revoked" | "server_error";

export interface Refusal {
  readonly refused: RefusalReason;
  /** For the log of the host. Never contains the credential. */
  readonly detail?: string;
}

export interface Credential {
  /** Whether a credential of this kind was presented, by its shape alone. */
  recognises(presented: Presented): boolean;
  /** Decides at once if it can. Called only for what it recognises. Never throws or rejects. */
  authenticate(presented: Presented): Awaitable<ProvenIdentity | Refusal>;
}

export function isRefusal(outcome: ProvenIdentity | Refusal): outcome is Refusal {
  return "refused" in outcome;
}
