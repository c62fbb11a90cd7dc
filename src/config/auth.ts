// The section `auth` of a config: which credentials a host accepts, and which roles their principals have.
import { z } from "zod";
import { nearest } from "../machinery/nearest.ts";
import { builtInRoles } from "../rights/roles.ts";
import type { RoleProblem } from "./roles.ts";

const text = z.string().min(1);
const roleNames = z.array(text);

/** A key set that is fetched without TLS could be replaced on its way; only this machine needs none. */
const address = z.string().refine(isSafeAddress, {
  error: "expected an https address; http is accepted only for this machine, for example http://127.0.0.1:8080",
});

function isSafeAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname));
}

/** With public keys only: a shared secret has no place in a key set that anyone can read. */
const algorithm = z.enum([
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
]);

const jwtIssuer = z.strictObject({
  issuer: address
    .refine((value) => !value.includes("|"), { error: 'expected an address without "|"' })
    .describe("The claim iss of its tokens, to the letter."),
  audience: z
    .array(text)
    .min(1)
    .describe(
      "Names of this host: the claim aud of a token must be one of them, or a token for another service would do.",
    ),
  jwks_uri: address.optional().describe("Address of its public keys. Without it: found in the metadata of the issuer."),
  algorithms: z.array(algorithm).min(1).optional().describe("Accepted signatures. Without it: all with a public key."),
  typ: text.default("at+jwt").describe('The header typ of its access tokens; "any" does not check it.'),
  clock_skew_seconds: z
    .number()
    .min(0)
    .max(600)
    .default(30)
    .describe("How far the clocks of host and issuer may be apart."),
  claims: z
    .strictObject({
      principal: text.default("sub").describe("The claim that names the principal within its issuer."),
      roles: text
        .default("roles")
        .describe("The claim with the names of its roles, a list or a text with spaces, such as realm_access.roles."),
      agent: text.optional().describe("The claim with the name of the agent. Without it: the agent names itself."),
    })
    .prefault({})
    .describe("Names of claims; dots lead into a claim."),
  roles: roleNames.optional().describe("Roles of principals whose token names no role. Without it: default_roles.jwt."),
});

const certificate = z.strictObject({
  field: z
    .enum(["common_name", "uri", "dns", "email"])
    .default("common_name")
    .describe("The name in a certificate that names the principal: its common name or one of its alternative names."),
  match: text.describe('The names that this entry is for; "*" stands for any characters. The first entry counts.'),
  roles: roleNames.optional().describe("Their roles. Without it: default_roles.certificates."),
});

const defaultRoles = z.strictObject({
  token: roleNames.default(["operator"]).describe("Of agents that present auth_token."),
  keys: roleNames.default(["agent"]).describe("Of API keys that are created without --role."),
  jwt: roleNames.default([]).describe("Of principals whose JWT names no role, unless their issuer has roles."),
  certificates: roleNames.default(["agent"]).describe("Of certificates whose entry has no roles."),
  user: roleNames
    .default(["operator"])
    .describe("Of an agent that presents no credential to `a2e stdio`: it acts for the user who started it."),
});

export const auth = z.strictObject({
  keys: z.boolean().default(false).describe("Accepts API keys, which `a2e keys create` makes."),
  jwt: z.array(jwtIssuer).default([]).describe("Issuers whose JWTs are accepted: issuer, audience and more."),
  certificates: z
    .array(certificate)
    .default([])
    .describe("Certificates of agents that are accepted, by name: match and roles. Needs server.tls.client_ca."),
  default_roles: defaultRoles.prefault({}).describe("Names of the roles of principals whose credential names none."),
});

export type AuthConfig = z.output<typeof auth>;

export interface AuthFacts {
  readonly auth: AuthConfig;
  readonly roles: Readonly<Record<string, unknown>>;
  readonly server: { readonly tls: { readonly client_ca?: string | undefined } };
}

/** Whether agents need a credential. The shared token is a setting of its own. */
export function needsCredential({ auth, auth_token }: { auth: AuthConfig; auth_token?: string | undefined }): boolean {
  return auth_token !== undefined || auth.keys || auth.jwt.length > 0 || auth.certificates.length > 0;
}

/** Problems that the schema of the section cannot find alone. */
export function findAuthProblems({ auth, roles, server }: AuthFacts): RoleProblem[] {
  const known = [...Object.keys(roles), ...Object.keys(builtInRoles)];
  const named = [
    ...auth.jwt.map(({ roles }, index) => ({ path: ["auth", "jwt", index, "roles"], roles: roles ?? [] })),
    ...auth.certificates.map(({ roles }, index) => ({
      path: ["auth", "certificates", index, "roles"],
      roles: roles ?? [],
    })),
    ...Object.entries(auth.default_roles).map(([kind, roles]) => ({ path: ["auth", "default_roles", kind], roles })),
  ];
  const unknown = named.flatMap(({ path, roles }) =>
    roles.flatMap((name, index) => {
      if (known.includes(name)) return [];
      const suggestion = nearest(name, known);
      const problem = { path: [...path, index], part: "value" as const, message: `there is no role "${name}"` };
      return [suggestion === undefined ? problem : { ...problem, suggestion }];
    }),
  );
  if (auth.certificates.length === 0 || server.tls.client_ca !== undefined) return unknown;
  const message = "no certificate of an agent can be checked: set server.tls.client_ca";
  return [...unknown, { path: ["auth", "certificates"], part: "key", message }];
}
