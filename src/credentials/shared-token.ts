import { createHash, timingSafeEqual } from "node:crypto";
import { sharedTokenId } from "../plugin/principal.ts";
import type { Credential, ProvenIdentity } from "./credential.ts";

export interface SharedTokenOptions {
  token: string;
  roles?: readonly string[];
}

/** One secret for all agents of a host. By default it allows everything, as on a host that has nothing else. */
export function createSharedToken({ token, roles = ["operator"] }: SharedTokenOptions): Credential {
  if (token === "") throw new Error("the shared token is empty");
  const expected = digest(token);
  const identity: ProvenIdentity = { id: sharedTokenId, isAuthenticated: true, roles, chain: [sharedTokenId] };
  return {
    recognises: (presented) => presented.token !== "",
    // All digests have the same length, so the time of the comparison reveals neither content nor length of the token.
    authenticate: (presented) => (timingSafeEqual(expected, digest(presented.token)) ? identity : { refused: "wrong" }),
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
