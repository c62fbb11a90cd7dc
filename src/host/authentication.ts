import { createHash, timingSafeEqual } from "node:crypto";
import { anonymous, type Principal } from "./principal.ts";

export interface Credentials {
  agent_id: string;
  token: string;
}

/** Says who presents these credentials; undefined means nobody this host knows. */
export type Authenticate = (credentials: Credentials) => Principal | undefined;

/** One shared token. Without one every agent is let in, which is why a host without one only binds to loopback. */
export function createTokenAuthentication(token: string | undefined): Authenticate {
  if (token === undefined || token === "") return ({ agent_id }) => ({ ...anonymous, id: agent_id });
  const expected = digest(token);
  return (credentials) => {
    // Digests have one length, so neither the content nor the length of the token shows in the time this takes.
    const isRight = timingSafeEqual(expected, digest(credentials.token));
    return isRight ? { id: credentials.agent_id, isAuthenticated: true } : undefined;
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
