// From the claims of a verified JWT to an identity.
import type { JWTPayload } from "jose";
import type { ProvenIdentity, Refusal } from "./credential.ts";

/** Names of claims. A name with dots is also a path: `realm_access.roles`. */
export interface ClaimNames {
  /** Names the principal within its issuer. `client_id` and `azp` name the program, not the user. */
  readonly principal?: string;
  /** A list, or a text with spaces between the names. */
  readonly roles?: string;
  readonly scopes?: string;
  /** The name of the agent. */
  readonly agent?: string;
}

const maxNameLength = 512;

export function toIdentity(
  payload: JWTPayload,
  { issuer, claims, skewMs }: { issuer: string; claims: ClaimNames; skewMs: number },
): ProvenIdentity | Refusal {
  const { principal = "sub", roles = "roles", scopes, agent } = claims;
  const name = readClaim(payload, principal);
  if (typeof name !== "string" || name === "" || name.length > maxNameLength) {
    return { refused: "wrong", detail: `the claim ${principal} does not name a principal` };
  }
  const id = `${issuer}|${name}`;
  const agentId = agent === undefined ? undefined : readClaim(payload, agent);
  return {
    id,
    isAuthenticated: true,
    roles: toNames(readClaim(payload, roles)),
    ...(scopes === undefined ? {} : { scopes: toNames(readClaim(payload, scopes)) }),
    // As long as the token would be accepted again.
    expiresAt: Number(payload.exp) * 1000 + skewMs,
    chain: [id],
    ...(typeof agentId === "string" && agentId.length <= maxNameLength ? { agentId } : {}),
  };
}

function readClaim(payload: object, name: string): unknown {
  if (Object.hasOwn(payload, name)) return (payload as Record<string, unknown>)[name];
  let value: unknown = payload;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function toNames(value: unknown): string[] {
  const list = typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : [];
  return list.filter((item): item is string => typeof item === "string" && item !== "");
}
