import { type Caveats, caveatProblem } from "./caveats.ts";
import { isTokenRoot, type TokenRoot } from "./token-root.ts";
import { decodeJson, splitToken, type TokenLimits } from "./token-text.ts";

export interface TokenDescription {
  readonly root: TokenRoot;
  /** The caveats of each link; a link that this release cannot read is undefined. */
  readonly links: readonly (Caveats | undefined)[];
}

/**
 * Reads a token without checking it: only the host that minted the token can do that. Undefined if the text does not
 * have the form of a token.
 */
export function describeToken(token: string, limits?: TokenLimits): TokenDescription | undefined {
  const parts = splitToken(token, limits);
  if (typeof parts === "string") return undefined;
  const root = decodeJson(parts.root);
  if (!isTokenRoot(root)) return undefined;
  const links = parts.links.map((link) => {
    const value = decodeJson(link);
    return caveatProblem(value) === undefined ? (value as Caveats) : undefined;
  });
  return { root, links };
}
