// JWTs of the issuers that the operator has configured: access tokens of OAuth 2.0 and OpenID Connect.
import type { Logger } from "../plugin/logger.ts";
import { type Clock, systemClock } from "../protocol/envelope.ts";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import { type Credential, isRefusal, type ProvenIdentity, type Refusal } from "./credential.ts";
import { requireSafeAddress } from "./issuer-documents.ts";
import { IssuerKeys, KeysUnavailableError } from "./issuer-keys.ts";
import { type ClaimNames, toIdentity } from "./jwt-claims.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

export interface JwtIssuer {
  /** As in the claim `iss`, to the letter. */
  readonly issuer: string;
  /** The names of this host: a token must be for one of them. Required, else tokens for other services would do. */
  readonly audience: readonly string[];
  /** Without it, found in the metadata of the issuer. */
  readonly jwksUri?: string;
  readonly algorithms?: readonly string[];
  /** The header `typ`: tells access tokens from the ID tokens of the same issuer. `any` does not check it. */
  readonly typ?: string;
  readonly clockSkewSeconds?: number;
  readonly claims?: ClaimNames;
}

export interface JwtOptions {
  readonly issuers: readonly JwtIssuer[];
  readonly log: Logger;
  readonly clock?: Clock;
  readonly fetch?: typeof globalThis.fetch;
  readonly limits?: Pick<Limits, "maxTokenBytes" | "maxVerifiedTokens" | "maxIssuerBytes" | "issuerTimeoutMs">;
}

/** With public keys only. A shared secret has no place in a key set that anyone can read. */
const asymmetric = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
const shape = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** Throws if an issuer is not configured safely. Fetches nothing before the first token of an issuer is presented. */
export function createJwts({
  issuers,
  log,
  clock = systemClock,
  fetch = globalThis.fetch,
  limits = defaultLimits,
}: JwtOptions): Credential {
  for (const issuer of issuers) requireSafe(issuer);
  const network = { fetch, limits };
  const known = new Map(
    issuers.map((settings) => {
      const { issuer, jwksUri } = settings;
      return [issuer, { settings, keys: new IssuerKeys({ issuer, jwksUri, clock, network, log }) }];
    }),
  );
  const verified = new VerifiedTokens(limits.maxVerifiedTokens);

  const verify = async (token: string): Promise<ProvenIdentity | Refusal> => {
    try {
      const { decodeJwt } = await import("jose");
      const issuer = known.get(decodeJwt(token).iss ?? "");
      if (issuer === undefined) return { refused: "wrong", detail: "the issuer is not configured" };
      const identity = await verifyFor(token, issuer, clock.now());
      if (!isRefusal(identity)) verified.add(token, identity, clock.now());
      return identity;
    } catch (error) {
      return await toRefusal(error, log);
    }
  };

  return {
    recognises: ({ token }) => token.length <= limits.maxTokenBytes && shape.test(token),
    authenticate: ({ token }) => verified.find(token, clock.now()) ?? verify(token),
  };
}

async function verifyFor(
  token: string,
  { settings, keys }: { settings: JwtIssuer; keys: IssuerKeys },
  now: number,
): Promise<ProvenIdentity | Refusal> {
  const { issuer, audience, algorithms = asymmetric, typ = "at+jwt", clockSkewSeconds = 30, claims = {} } = settings;
  const { jwtVerify } = await import("jose");
  const { payload } = await jwtVerify(token, keys.find, {
    issuer,
    audience: [...audience],
    algorithms: [...algorithms],
    ...(typ === "any" ? {} : { typ }),
    clockTolerance: clockSkewSeconds,
    currentDate: new Date(now),
    requiredClaims: ["exp"],
  });
  return toIdentity(payload, { issuer, claims, skewMs: clockSkewSeconds * 1000 });
}

async function toRefusal(error: unknown, log: Logger): Promise<Refusal> {
  const { errors } = await import("jose");
  if (error instanceof errors.JWTExpired) return { refused: "expired", detail: "the JWT has expired" };
  // The texts of jose name the claim or header at fault, not its value.
  if (error instanceof errors.JOSEError) return { refused: "wrong", detail: error.message };
  if (error instanceof KeysUnavailableError) return { refused: "server_error", detail: error.message };
  log.error("a JWT could not be checked", { error });
  return { refused: "server_error", detail: "the JWT could not be checked" };
}

function requireSafe({ issuer, audience, jwksUri, algorithms = [] }: JwtIssuer): void {
  requireSafeAddress(issuer);
  if (jwksUri !== undefined) requireSafeAddress(jwksUri);
  // It separates issuer and name in the id of a principal.
  if (issuer.includes("|")) throw new Error(`the issuer ${issuer} must not contain "|"`);
  if (audience.length === 0) {
    throw new Error(`the issuer ${issuer} needs an audience: without it, its tokens for any other service would do`);
  }
  const wrong = algorithms.find((name) => !asymmetric.includes(name));
  if (wrong !== undefined) throw new Error(`the issuer ${issuer} must not use ${wrong}: use ${asymmetric.join(", ")}`);
}
