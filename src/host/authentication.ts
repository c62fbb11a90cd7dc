import { createHash, timingSafeEqual } from "node:crypto";
import { anonymous, type Identity, type Principal, sharedTokenId } from "../plugin/principal.ts";
import type { Awaitable } from "../protocol/awaitable.ts";
import type { token } from "../protocol/core.ts";
import type { RequestOf } from "../protocol/table/capability.ts";
import type { Rights } from "../rights/rights.ts";

/** A certificate that the server has verified: the client has its private key, and `clientCa` has issued it. */
export interface ClientCertificate {
  /** SHA-256 of the whole certificate in lower-case hexadecimal digits, without colons. */
  readonly fingerprint: string;
  /** The common name of its subject; empty if it has none or several. */
  readonly common_name: string;
  /** Its alternative names with their kinds, as in `DNS:agent.example` and `URI:spiffe://example/agent`. */
  readonly alternative_names: readonly string[];
  /** In milliseconds since 1970. */
  readonly expires_at: number;
}

/** What a peer shows to prove who it is. */
export interface PeerCredentials {
  /** Empty without a token. */
  readonly token: string;
  readonly certificate?: ClientCertificate;
}

export interface Credentials extends PeerCredentials {
  /** The name that the agent claims. */
  readonly agent_id: string;
}

/**
 * Returns the identity that the credentials prove; undefined if they are not valid. `agent_id` is claimed by the agent and
 * must not decide who it is.
 */
export type Authenticate = (credentials: Credentials) => Awaitable<Identity | undefined>;

/** The session of a principal that is to be authorized. */
export interface AuthorizedSession {
  /** Calls the listener when the session is closed. */
  onClosed(listener: () => void): void;
  /** Ends the session. Not to be called before `authorize` has returned. */
  close(reason: string): Promise<void>;
}

/**
 * Returns the rights of a principal. Called when an agent has been authenticated, and when its session is recovered or
 * forked. Throws an A2EError if the agent may not have the session now, for example because it has too many: its
 * handshake is rejected with the code of the error, and a session that was recovered has no rights.
 */
export type Authorize = (principal: Principal, session: AuthorizedSession) => Rights;

/**
 * Returns a token with the rights of this principal that is restricted by caveats, the fields of session/token/req. Throws
 * an A2EError if a caveat is not valid.
 */
export type MintToken = (principal: Principal, caveats: RequestOf<typeof token>) => string;

/** Checks one shared token. Without a token every agent is let in, so a host without a token binds to loopback only. */
export function createTokenAuthentication(token: string | undefined): Authenticate {
  if (token === undefined || token === "") return () => ({ id: anonymous.id, isAuthenticated: false });
  const expected = digest(token);
  return (credentials) => {
    // All digests have the same length, so the time of the comparison reveals neither content nor length of the token.
    const isRight = timingSafeEqual(expected, digest(credentials.token));
    return isRight ? { id: sharedTokenId, isAuthenticated: true } : undefined;
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
