// The root of a token: what the host states when it mints one.

export interface TokenRoot {
  /** Names the key of the host that it was minted with: an old key stays valid for a while after a new one. */
  readonly key: string;
  /** Of this token. Not secret: it is in the audit log, and revokes the token with all that were narrowed from it. */
  readonly id: string;
  /** Id of the principal that the token acts for. */
  readonly principal: string;
  /** In seconds since 1970. */
  readonly issued_at: number;
  /** Roles and scopes of the principal, if no store of the host has them; for example those of a JWT. */
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  /** Ids of the tokens that this one was minted with, oldest first. They are charged and revoked together with it. */
  readonly parents?: readonly string[];
}

export function isTokenRoot(value: unknown): value is TokenRoot {
  if (typeof value !== "object" || value === null) return false;
  const { key, id, principal, issued_at, roles = [], scopes = [], parents = [] } = value as Record<string, unknown>;
  return (
    [key, id, principal].every((item) => typeof item === "string") &&
    typeof issued_at === "number" &&
    [roles, scopes, parents].every((list) => Array.isArray(list) && list.every((item) => typeof item === "string"))
  );
}
