import { type Caveats, caveatProblem } from "./caveats.ts";
import { hmacSha256 } from "./hmac.ts";
import {
  decodeBytes,
  encodeBytes,
  encodeJson,
  joinToken,
  signLink,
  splitToken,
  type TokenLimits,
} from "./token-text.ts";

/**
 * Returns a token that is restricted by these caveats as well. Needs nothing but the token, so any holder can do it,
 * offline. The caveats of the result cannot be removed again. Throws if the token or a caveat is not valid, or if the
 * result would be too large.
 */
export function narrowToken(token: string, caveats: Caveats, limits?: TokenLimits): string {
  const problem = caveatProblem(caveats);
  if (problem !== undefined) throw new Error(`the token cannot be narrowed: ${problem}`);
  const parts = splitToken(token, limits);
  if (typeof parts === "string") throw new Error(`the token cannot be narrowed: it is ${parts.replace("_", " ")}`);
  const link = encodeJson(caveats);
  const tail = encodeBytes(signLink(link, decodeBytes(parts.tail), hmacSha256));
  const narrowed = joinToken({ ...parts, links: [...parts.links, link], tail });
  if (splitToken(narrowed, limits) === "too_large")
    throw new Error("the token cannot be narrowed: it would be too large");
  return narrowed;
}
