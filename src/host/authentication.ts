import { createHash, timingSafeEqual } from "node:crypto";
import { anonymous, type Identity, sharedTokenId } from "../plugin/principal.ts";
import type { Awaitable } from "../protocol/awaitable.ts";

export interface Credentials {
  agent_id: string;
  token: string;
}

/**
 * Returns the identity that the credentials prove; undefined if they are not valid. `agent_id` is claimed by the agent and
 * must not decide who it is.
 */
export type Authenticate = (credentials: Credentials) => Awaitable<Identity | undefined>;

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
