// From the section `auth` of a config to the ports of a host: who is let in, with which rights, and when it ends.
import { createHash } from "node:crypto";
import { type AuthConfig, needsCredential } from "../config/auth.ts";
import type { A2EHostConfig } from "../config/schema.ts";
import type { ApiKeys } from "../credentials/api-keys.ts";
import { createAuthentication } from "../credentials/authentication.ts";
import { createClientCertificates } from "../credentials/client-certificate.ts";
import { type Credential, isRefusal, type ProvenIdentity, type Refusal } from "../credentials/credential.ts";
import type { JwtIssuer } from "../credentials/jwt.ts";
import { createNarrowedTokens, type NarrowedTokens } from "../credentials/narrowed-token.ts";
import { createSharedToken } from "../credentials/shared-token.ts";
import type { Authenticate, Authorize, MintToken } from "../host/authentication.ts";
import type { A2EHost } from "../host/host.ts";
import type { Logger } from "../plugin/logger.ts";
import type { Secrets } from "../plugin/ports/secrets.ts";
import { type Identity, type Principal, sharedTokenId } from "../plugin/principal.ts";
import { andThen } from "../protocol/awaitable.ts";
import { type Clock, systemClock } from "../protocol/envelope.ts";
import { A2EError, messageOf } from "../protocol/errors.ts";
import type { Limits } from "../protocol/limits.ts";
import { createWildcard } from "../protocol/wildcards/wildcard.ts";
import { hasQuotas } from "../quotas/quota-settings.ts";
import type { Caveats } from "../tokens/caveats.ts";
import { openApiKeyFile } from "./api-key-file.ts";
import { createAuthorization } from "./authorization.ts";

export interface AccessOptions {
  secrets: Secrets;
  limits: Limits;
  log: Logger;
  clock?: Clock | undefined;
  /** The user who started this host, for an agent at the other end of a pipe. */
  user?: string | undefined;
}

export interface Access {
  readonly authenticate: Authenticate;
  readonly authorize: Authorize;
  readonly mintToken: MintToken;
  /** Closes the sessions of each API key that is revoked from now on. */
  follow(host: Pick<A2EHost, "sessions">): void;
  close(): Promise<void>;
}

/** Undefined if the config demands no credential. */
export async function openAccess(config: A2EHostConfig, options: AccessOptions): Promise<Access | undefined> {
  if (!needsCredential(config)) return undefined;
  const { auth, auth_token, data_dir: dataDir, host_id, roles, server } = config;
  const { log, clock = systemClock, limits, secrets, user } = options;
  const file = auth.keys ? await openApiKeyFile({ dataDir, log, clock }) : undefined;
  try {
    const identityOf = createIdentityOf(file?.keys);
    const tokens = openTokens(auth_token, { identityOf, secrets, clock, limits });
    const isFurther = auth.keys || auth.jwt.length > 0 || auth.certificates.length > 0;
    const credentials: Credential[] = [
      ...(file === undefined ? [] : [file.keys]),
      tokens,
      ...(auth.jwt.length === 0 ? [] : [await openJwts(auth, { log, clock, limits })]),
      ...certificatesOf(auth, clock),
      ...(user === undefined || !isFurther ? [] : [userCredential(user, auth.default_roles.user)]),
      ...(auth_token === undefined ? [] : [createSharedToken({ token: auth_token, roles: auth.default_roles.token })]),
    ];
    const check = createAuthentication(credentials);
    const audience = [host_id, ...server.allowed_hosts];
    return {
      authenticate: ({ agent_id: agentId, token, certificate }) => {
        const presented = { agentId, token, audience, ...(certificate === undefined ? {} : { certificate }) };
        return andThen(check(presented), (outcome) => {
          if (isRefusal(outcome) || enforcesBudgets(config) || (outcome.budgets ?? []).length === 0)
            return toIdentity(outcome, log);
          log.warn("a token with a budget was refused: configure quotas, so that budgets are counted");
          return undefined;
        });
      },
      authorize: createAuthorization({ roles, identityOf, log }),
      mintToken(principal, caveats) {
        const depth = depthOf(principal);
        if (depth === 0)
          throw new A2EError("forbidden", "the token of this session may not be passed on: its depth is 0");
        try {
          const below = caveats as Caveats;
          const limited = depth === undefined ? below : { ...below, depth: Math.min(below.depth ?? depth, depth - 1) };
          return tokens.mint(toProven(principal), limited);
        } catch (error) {
          throw new A2EError("schema_violation", messageOf(error));
        }
      },
      follow(host) {
        file?.keys.onRevoked(({ principalId, reason }) => {
          if (reason === "revoked") endSessions(host, principalId);
        });
      },
      close: async () => file?.close(),
    };
  } catch (error) {
    await file?.close();
    throw error;
  }
}

/** A rotated key is the same principal: its sessions continue. */
function endSessions({ sessions }: Pick<A2EHost, "sessions">, id: string): void {
  for (const session of sessions.list()) {
    const { principal } = session.info;
    if (principal.id === id || principal.chain?.includes(id) === true) void session.close("revoked", 0);
  }
}

/** The shared token without roles of its own is the principal that it was before there were others. */
/**
 * Whether the host counts what principals use. A host with the shared token alone does not, because it would cost every call
 * a little: it refuses tokens that have a budget.
 */
export function enforcesBudgets({ auth, quotas }: Pick<A2EHostConfig, "auth" | "quotas">): boolean {
  return auth.keys || auth.jwt.length > 0 || auth.certificates.length > 0 || hasQuotas(quotas);
}

function toIdentity(outcome: ProvenIdentity | Refusal, log: Logger): Identity | undefined {
  if (!isRefusal(outcome)) {
    const { id, roles, caveats } = outcome;
    const isOperator = roles.length > 0 && roles.every((role) => role === "operator");
    const isPlain = id === sharedTokenId && caveats === undefined && isOperator;
    return isPlain ? { id, isAuthenticated: true } : outcome;
  }
  const { refused, detail } = outcome;
  if (refused === "server_error") throw new A2EError("server_error", detail ?? "the credential cannot be checked now");
  if (refused !== "missing") log.info("a credential was refused", { reason: refused, detail });
  return undefined;
}

/** How often a token of this principal may still be passed on; undefined if no caveat limits it. */
function depthOf(principal: Principal): number | undefined {
  const { caveats = [] } = principal as Partial<ProvenIdentity>;
  const depths = caveats.flatMap(({ depth }) => (depth === undefined ? [] : [depth]));
  return depths.length === 0 ? undefined : Math.min(...depths);
}

function toProven(principal: Principal): ProvenIdentity {
  const { id, roles = ["operator"], chain = [id] } = principal;
  return { ...principal, isAuthenticated: true, roles, chain };
}

function createIdentityOf(keys: ApiKeys | undefined): (id: string) => ProvenIdentity | Refusal | undefined {
  return (id) => {
    if (!id.startsWith("key:")) return undefined;
    return keys === undefined ? { refused: "revoked", detail: "API keys are not accepted" } : keys.identityOf(id);
  };
}

interface TokenParts extends Pick<AccessOptions, "secrets" | "limits"> {
  identityOf: (id: string) => ProvenIdentity | Refusal | undefined;
  clock: Clock;
}

/**
 * Tokens of the shared token are signed with a key of their own, which changes with it: with another shared token, the
 * tokens that were narrowed from the old one are refused.
 */
function openTokens(authToken: string | undefined, { identityOf, secrets, clock, limits }: TokenParts): NarrowedTokens {
  const open = (purpose: string, isShared: boolean) =>
    createNarrowedTokens({
      keys: [{ id: secrets.handle(purpose, "token key"), secret: secrets.deriveKey(purpose) }],
      identityOf: (id) => ((id === sharedTokenId) === isShared ? identityOf(id) : { refused: "wrong" }),
      clock,
      limits,
    });
  const own = open("narrowed tokens", false);
  if (authToken === undefined) return own;
  const digest = createHash("sha256").update(authToken).digest("hex");
  const shared = open(`narrowed tokens of the shared token ${digest}`, true);
  const both = createAuthentication([own, shared]);
  return {
    recognises: own.recognises,
    authenticate: (presented) => both(presented),
    mint: (identity, caveats) => (identity.id === sharedTokenId ? shared : own).mint(identity, caveats),
  };
}

async function openJwts(
  { jwt, default_roles }: AuthConfig,
  options: { log: Logger; clock: Clock; limits: Limits },
): Promise<Credential> {
  // Loaded only if it is used.
  const { createJwts } = await import("../credentials/jwt.ts");
  const issuers = jwt.map(({ issuer, audience, jwks_uri, algorithms, typ, clock_skew_seconds, claims }): JwtIssuer => {
    const { principal, roles, agent } = claims;
    return {
      issuer,
      audience,
      ...(jwks_uri === undefined ? {} : { jwksUri: jwks_uri }),
      ...(algorithms === undefined ? {} : { algorithms }),
      typ,
      clockSkewSeconds: clock_skew_seconds,
      claims: { principal, roles, ...(agent === undefined ? {} : { agent }) },
    };
  });
  const jwts = createJwts({ issuers, ...options });
  const rolesOf = (id: string) => jwt.find(({ issuer }) => id.startsWith(`${issuer}|`))?.roles ?? default_roles.jwt;
  return {
    recognises: jwts.recognises,
    authenticate: (presented) =>
      andThen(jwts.authenticate(presented), (outcome) =>
        isRefusal(outcome) || outcome.roles.length > 0 ? outcome : { ...outcome, roles: rolesOf(outcome.id) },
      ),
  };
}

/** One credential for each field that entries use, in the order of the entries. */
function certificatesOf({ certificates, default_roles }: AuthConfig, clock: Clock): Credential[] {
  return [...new Set(certificates.map(({ field }) => field))].map((field) => {
    const entries = certificates
      .filter((entry) => entry.field === field)
      .map(({ match, roles }) => ({ matches: createWildcard(match), roles: roles ?? default_roles.certificates }));
    const rolesOf = (name: string) => entries.find(({ matches }) => matches(name))?.roles;
    return createClientCertificates({ field, rolesOf, clock });
  });
}

function userCredential(user: string, roles: readonly string[]): Credential {
  const id = `user:${user}`;
  return {
    recognises: ({ token, certificate }) => token === "" && certificate === undefined,
    authenticate: () => ({ id, isAuthenticated: true, roles, chain: [id] }),
  };
}
