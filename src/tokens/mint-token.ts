import { type Hmac, hmacSha256 } from "./hmac.ts";
import type { TokenRoot } from "./token-root.ts";
import { encodeBytes, encodeJson, joinToken, signRoot } from "./token-text.ts";

/** Fewer bytes could be guessed. */
const minKeyBytes = 32;

export interface TokenKey {
  /** Written into the token. */
  readonly id: string;
  /** At least 32 random bytes, which serve no other purpose. */
  readonly secret: Uint8Array;
}

/** Makes a token without caveats. Only a host can: it needs the host's key. */
export function mintToken(key: TokenKey, root: Omit<TokenRoot, "key">, hmac: Hmac = hmacSha256): string {
  if (key.secret.length < minKeyBytes) throw new Error(`a key for tokens has at least ${minKeyBytes} bytes`);
  const text = encodeJson({ key: key.id, ...root });
  return joinToken({ root: text, links: [], tail: encodeBytes(signRoot(text, key.secret, hmac)) });
}
