// The root of a token: what the host states when it mints one.
import type { TokenBudget } from "./caveats.ts";

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
  /** What remains in force of the budgets of `parents`. */
  readonly budgets?: readonly ChainBudget[];
}

/** A budget that all tokens with this id in their chain share. */
export interface ChainBudget {
  readonly id: string;
  readonly budget: TokenBudget;
}

export function isTokenRoot(value: unknown): value is TokenRoot {
  if (typeof value !== "object" || value === null) return false;
  const {
    key,
    id,
    principal,
    issued_at,
    roles = [],
    scopes = [],
    parents = [],
    budgets = [],
  } = value as Record<string, unknown>;
  return (
    [key, id, principal].every((item) => typeof item === "string") &&
    typeof issued_at === "number" &&
    Array.isArray(budgets) &&
    [roles, scopes, parents].every((list) => Array.isArray(list) && list.every((item) => typeof item === "string"))
  );
}
