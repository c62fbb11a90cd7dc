// The text of a token: `a2e1.<root>.<link>.<link>.<tail>`. Root and links are JSON in base64url. The tail is the HMAC of
// the last of them, with the HMAC before it as key; it is also the key for one more link. This is the construction of
// macaroons (Birgisson et al., NDSS 2014).
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import type { Hmac } from "./hmac.ts";

export const tokenPrefix = "a2e1.";

export type TokenLimits = Pick<Limits, "maxTokenBytes" | "maxTokenLinks">;

/** The parts of a token as they are in its text: encoded. */
export interface TokenParts {
  readonly root: string;
  readonly links: readonly string[];
  readonly tail: string;
}

const part = /^[A-Za-z0-9_-]+$/;
/** 32 bytes. */
const tailLength = 43;

/** Splits a token, or returns why it is not a token. Checks neither the tail nor the contents of the parts. */
export function splitToken(token: string, limits: TokenLimits = defaultLimits): TokenParts | "malformed" | "too_large" {
  if (!token.startsWith(tokenPrefix)) return "malformed";
  // A valid token is ASCII, so that its length is its number of bytes.
  if (token.length > limits.maxTokenBytes) return "too_large";
  const [root = "", ...rest] = token.slice(tokenPrefix.length).split(".");
  const tail = rest.pop();
  if (tail?.length !== tailLength || ![root, ...rest, tail].every((text) => part.test(text))) return "malformed";
  return rest.length > limits.maxTokenLinks ? "too_large" : { root, links: rest, tail };
}

export function joinToken({ root, links, tail }: TokenParts): string {
  return tokenPrefix + [root, ...links, tail].join(".");
}

/** The HMAC of the root. The prefix keeps a key from authenticating texts of another format. */
export function signRoot(root: string, key: Uint8Array, hmac: Hmac): Uint8Array {
  return hmac(key, utf8.encode(tokenPrefix + root));
}

export function signLink(link: string, before: Uint8Array, hmac: Hmac): Uint8Array {
  return hmac(before, utf8.encode(link));
}

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });

export function encodeJson(value: unknown): string {
  return encodeBytes(utf8.encode(JSON.stringify(value)));
}

/** Undefined if the text is not JSON in base64url. */
export function decodeJson(text: string): unknown {
  try {
    return JSON.parse(strictUtf8.decode(decodeBytes(text)));
  } catch {
    return undefined;
  }
}

export function encodeBytes(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Throws if the text is not base64url. */
export function decodeBytes(text: string): Uint8Array {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}
