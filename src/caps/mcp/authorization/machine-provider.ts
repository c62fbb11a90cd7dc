// Tokens that need no user: the host authenticates with a secret or a key, or an identity provider vouches for the
// user.
import { readFile } from "node:fs/promises";
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Sdk } from "../sdk/sdk.ts";
import type { OAuthSettings } from "../server-config.ts";

/** Undefined if the grant needs a user. Throws an Error that names the missing setting. */
export function createMachineProvider(
  settings: OAuthSettings,
  sdk: Sdk,
  fetchFn: typeof fetch,
): OAuthClientProvider | undefined {
  const { grant, client_secret, private_key, signing_algorithm, scope, issuer } = settings;
  if (grant === "authorization_code") return undefined;
  const shared = {
    clientId: required(settings, "client_id"),
    ...(scope === "" ? {} : { scope }),
    ...(issuer === undefined ? {} : { expectedIssuer: issuer }),
  };
  if (grant === "identity_assertion")
    return new sdk.CrossAppAccessProvider({
      ...shared,
      clientSecret: required(settings, "client_secret"),
      fetchFn,
      assertion: createAssertion(required(settings, "identity_provider"), sdk),
    });
  if (private_key !== undefined)
    return new sdk.PrivateKeyJwtProvider({ ...shared, privateKey: private_key, algorithm: signing_algorithm });
  if (client_secret === undefined) throw new Error("oauth: client_credentials needs client_secret or private_key");
  return new sdk.ClientCredentialsProvider({ ...shared, clientSecret: client_secret });
}

type Assertion = ConstructorParameters<Sdk["CrossAppAccessProvider"]>[0]["assertion"];

function createAssertion(provider: NonNullable<OAuthSettings["identity_provider"]>, sdk: Sdk): Assertion {
  const { issuer, token_endpoint, client_id, client_secret, id_token_file } = provider;
  return async ({ authorizationServerUrl, resourceUrl, scope, fetchFn }) => {
    const request = {
      audience: authorizationServerUrl,
      resource: resourceUrl,
      idToken: (await readFile(id_token_file, "utf8")).trim(),
      clientId: client_id,
      ...(client_secret === undefined ? {} : { clientSecret: client_secret }),
      ...(scope === undefined ? {} : { scope }),
      fetchFn,
    };
    const { jwtAuthGrant } =
      token_endpoint === undefined
        ? await sdk.discoverAndRequestJwtAuthGrant({ ...request, idpUrl: issuer })
        : await sdk.requestJwtAuthorizationGrant({ ...request, tokenEndpoint: token_endpoint });
    return jwtAuthGrant;
  };
}

function required<Name extends keyof OAuthSettings>(
  settings: OAuthSettings,
  name: Name,
): NonNullable<OAuthSettings[Name]> {
  return settings[name] ?? fail(`oauth: ${settings.grant} needs ${name}`);
}

function fail(message: string): never {
  throw new Error(message);
}
