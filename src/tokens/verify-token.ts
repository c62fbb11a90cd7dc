import { type Caveats, caveatProblem } from "./caveats.ts";
import { type Hmac, hmacSha256 } from "./hmac.ts";
import { type ChainBudget, isTokenRoot, type TokenRoot } from "./token-root.ts";
import { decodeJson, encodeBytes, signLink, signRoot, splitToken, type TokenLimits } from "./token-text.ts";

export interface VerifiedToken {
  readonly root: TokenRoot;
  readonly principalId: string;
  /**
   * Ids of the token and of every token that it was narrowed from, oldest first. An id does not reveal the token, and
   * a token narrowed from this one repeats all of them: this makes them fit for revocation and for budgets.
   */
  readonly chain: readonly string[];
  /** Of each link, in the order of `chain` after the id of the root. All of them apply. */
  readonly caveats: readonly Caveats[];
  /** The budgets among the caveats, each with the id that it is charged to, and those of the tokens before. */
  readonly budgets: readonly ChainBudget[];
}

/** `forged` covers every change of a token: a byte changed, a link removed, reordered or added without the tail. */
export type TokenProblem = "malformed" | "too_large" | "unknown_key" | "forged" | "unknown_caveat";

export type TokenVerdict =
  | { readonly ok: true; readonly token: VerifiedToken }
  | { readonly ok: false; readonly problem: TokenProblem; readonly detail?: string };

export interface VerifyOptions {
  readonly hmac?: Hmac;
  readonly limits?: TokenLimits;
}

/**
 * Checks that the token was minted with a key of this host and narrowed only by its rules. Expiry and audience are
 * caveats like the others: the caller enforces them.
 */
export function verifyToken(
  token: string,
  keyOf: (keyId: string) => Uint8Array | undefined,
  { hmac = hmacSha256, limits }: VerifyOptions = {},
): TokenVerdict {
  const parts = splitToken(token, limits);
  if (typeof parts === "string") return { ok: false, problem: parts };
  const root = decodeJson(parts.root);
  if (!isTokenRoot(root)) return { ok: false, problem: "malformed" };
  const key = keyOf(root.key);
  if (key === undefined) return { ok: false, problem: "unknown_key" };
  const tails = [signRoot(parts.root, key, hmac)];
  for (const link of parts.links) tails.push(signLink(link, tails.at(-1) as Uint8Array, hmac));
  // The texts are compared: base64url has several spellings of the same bytes, and only one of them is accepted.
  if (!isSameText(encodeBytes(tails.at(-1) as Uint8Array), parts.tail)) return { ok: false, problem: "forged" };
  const caveats: Caveats[] = [];
  for (const link of parts.links) {
    const value = decodeJson(link);
    const detail = caveatProblem(value);
    if (detail !== undefined) return { ok: false, problem: "unknown_caveat", detail };
    caveats.push(value as Caveats);
  }
  const narrowed = tails.slice(1).map((tail) => linkId(tail, hmac));
  const chain = [...(root.parents ?? []), root.id, ...narrowed];
  const own = caveats.flatMap(({ budget }, index) => (budget ? [{ id: narrowed[index] as string, budget }] : []));
  const budgets = [...(root.budgets ?? []), ...own];
  return { ok: true, token: { root, principalId: root.principal, chain, caveats, budgets } };
}

const idPurpose = new TextEncoder().encode("a2e1.id");

/** Derived from the tail, which is secret, in one direction. No link has a dot, so no tail has this text behind it. */
function linkId(tail: Uint8Array, hmac: Hmac): string {
  return encodeBytes(hmac(tail, idPurpose).subarray(0, 15));
}

/** Takes the same time for any two texts of the same length. */
function isSameText(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  return difference === 0;
}
