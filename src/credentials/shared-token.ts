import { createHash, timingSafeEqual } from "node:crypto";
import type { Credential, Identity } from "./credential.ts";

export interface SharedTokenOptions {
  token: string;
  roles?: readonly string[];
}

/** The principal of all agents that present the shared token. */
const sharedTokenPrincipal = "token";

/** One secret for all agents of a host. By default it allows everything, as on a host that has nothing else. */
export function createSharedToken({ token, roles = ["operator"] }: SharedTokenOptions): Credential {
  if (token === "") throw new Error("the shared token is empty");
  const expected = digest(token);
  const identity: Identity = { id: sharedTokenPrincipal, roles, chain: [sharedTokenPrincipal] };
  return {
    recognises: (presented) => presented.token !== "",
    // All digests have the same length, so the time of the comparison reveals neither content nor length of the token.
    authenticate: (presented) => (timingSafeEqual(expected, digest(presented.token)) ? identity : { refused: "wrong" }),
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
