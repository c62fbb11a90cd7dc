import { createHash, timingSafeEqual } from "node:crypto";
import { anonymous, type Principal } from "../plugin/principal.ts";

export interface Credentials {
  agent_id: string;
  token: string;
}

/** Returns the principal with these credentials; undefined if they are not valid. */
export type Authenticate = (credentials: Credentials) => Principal | undefined;

/** Checks one shared token. Without a token every agent is let in, so a host without a token binds to loopback only. */
export function createTokenAuthentication(token: string | undefined): Authenticate {
  if (token === undefined || token === "") return ({ agent_id }) => ({ ...anonymous, id: agent_id });
  const expected = digest(token);
  return (credentials) => {
    // All digests have the same length, so the time of the comparison reveals neither content nor length of the token.
    const isRight = timingSafeEqual(expected, digest(credentials.token));
    return isRight ? { id: credentials.agent_id, isAuthenticated: true } : undefined;
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
