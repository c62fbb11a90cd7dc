// Tokens that a host has minted and their holders have narrowed. The port for who a token stands for is `identityOf`:
// a narrowed token never outlives the credential of its principal.
import { createHmac, randomBytes } from "node:crypto";
import { type Clock, systemClock } from "../protocol/envelope.ts";
import type { Caveats } from "../tokens/caveats.ts";
import type { Hmac } from "../tokens/hmac.ts";
import { mintToken, type TokenKey } from "../tokens/mint-token.ts";
import { narrowToken } from "../tokens/narrow-token.ts";
import { type TokenLimits, tokenPrefix } from "../tokens/token-text.ts";
import { type VerifiedToken, verifyToken } from "../tokens/verify-token.ts";
import { type Credential, isRefusal, type Presented, type ProvenIdentity, type Refusal } from "./credential.ts";

export interface NarrowedTokensOptions {
  /** The first mints; the others are older and still accepted. */
  keys: readonly [TokenKey, ...TokenKey[]];
  /**
   * The present identity of a principal, or why it is not valid any more. Undefined if only its own credential knows
   * its roles, as with a JWT: then those at the time of minting apply.
   */
  identityOf?: (principalId: string) => ProvenIdentity | Refusal | undefined;
  /** Whether an id of a chain was revoked. */
  isRevoked?: (id: string) => boolean;
  clock?: Clock;
  limits?: TokenLimits;
}

export interface NarrowedTokens extends Credential {
  /**
   * A token with the rights of this identity, restricted by these caveats too. It shares the budgets of the identity
   * and ends with it. Throws if a caveat is not valid or the token would be too large.
   */
  mint(identity: ProvenIdentity, caveats?: Caveats): string;
}

/** Faster than the one for browsers. */
const nodeHmac: Hmac = (key, message) => createHmac("sha256", key).update(message).digest();

export function createNarrowedTokens({
  keys,
  identityOf = () => undefined,
  isRevoked = () => false,
  clock = systemClock,
  limits,
}: NarrowedTokensOptions): NarrowedTokens {
  const secrets = new Map(keys.map(({ id, secret }) => [id, secret]));
  const options = { hmac: nodeHmac, ...(limits === undefined ? {} : { limits }) };

  const decide = (token: VerifiedToken, audience: readonly string[]): ProvenIdentity | Refusal => {
    if (!isMeantFor(token.caveats, audience)) return { refused: "wrong", detail: "the token is for another host" };
    const revoked = token.chain.find(isRevoked);
    if (revoked !== undefined) return { refused: "revoked", detail: `token ${revoked}` };
    const owner = identityOf(token.principalId) ?? mintedIdentity(token);
    if (isRefusal(owner)) return owner;
    const expiresAt = Math.min(owner.expiresAt ?? Number.POSITIVE_INFINITY, ...token.caveats.map(expiryOf));
    if (expiresAt <= clock.now()) return { refused: "expired", detail: `token ${token.root.id}` };
    return {
      ...owner,
      ...(Number.isFinite(expiresAt) ? { expiresAt } : {}),
      chain: [...owner.chain, ...token.chain],
      caveats: token.caveats,
      budgets: token.budgets,
    };
  };

  return {
    recognises: ({ token }) => token.startsWith(tokenPrefix),
    authenticate({ token, audience = [] }: Presented) {
      const verdict = verifyToken(token, (id) => secrets.get(id), options);
      if (verdict.ok) return decide(verdict.token, audience);
      return { refused: "wrong", detail: verdict.detail ?? verdict.problem.replaceAll("_", " ") };
    },
    mint({ id, roles, scopes, expiresAt, chain, caveats: before = [], budgets = [] }, caveats = {}) {
      const root = {
        id: randomBytes(15).toString("base64url"),
        principal: id,
        issued_at: Math.floor(clock.now() / 1000),
        // The roles of a principal that the host knows are those that it has when the token is presented.
        ...(identityOf(id) === undefined ? { roles, ...(scopes === undefined ? {} : { scopes }) } : {}),
        ...(chain.length > 1 ? { parents: chain.slice(1) } : {}),
        ...(budgets.length > 0 ? { budgets } : {}),
      };
      // Budgets are in the root, with the ids that they are charged to: as caveats they would be counted from 0 again.
      const inherited = before.map(({ budget: _, nonce: __, ...restriction }) => restriction);
      const isEarlier = expiresAt !== undefined && expiresAt < Math.min(...before.map(expiryOf));
      const expiry = isEarlier ? [{ expires_at: expiresAt / 1000 }] : [];
      let token = mintToken(keys[0], root, nodeHmac);
      for (const link of [...inherited, ...expiry, caveats]) {
        if (Object.keys(link).length > 0) token = narrowToken(token, link, limits);
      }
      return token;
    },
  };
}

function isMeantFor(caveats: readonly Caveats[], audience: readonly string[]): boolean {
  return caveats.every((link) => link.audience?.some((name) => audience.includes(name)) ?? true);
}

function expiryOf({ expires_at }: Caveats): number {
  return expires_at === undefined ? Number.POSITIVE_INFINITY : expires_at * 1000;
}

function mintedIdentity({ principalId, root: { roles, scopes } }: VerifiedToken): ProvenIdentity | Refusal {
  if (roles === undefined) return { refused: "revoked", detail: `the principal ${principalId} is gone` };
  const restriction = scopes === undefined ? {} : { scopes };
  return { id: principalId, isAuthenticated: true, roles, ...restriction, chain: [principalId] };
}
