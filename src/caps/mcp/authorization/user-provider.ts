// The SDK asks this provider for tokens that need a user: it reads stored credentials, and sends the user to the
// authorisation server.
import { randomBytes } from "node:crypto";
import type { OAuthClientMetadata, OAuthClientProvider } from "@modelcontextprotocol/client";
import type { OAuthSettings } from "../server-config.ts";
import type { Credentials } from "./credential-store.ts";

type ClientInformation = NonNullable<Credentials["client"]>;

/**
 * The redirect of one user. Verifier and client are kept here and not stored: two sessions of one agent may authorise
 * at once, each with its own verifier and, if no client was registered before, its own client.
 */
export interface Redirect {
  readonly url: string;
  readonly state: string;
  readonly verifier: string;
  readonly client: ClientInformation | undefined;
}

export interface UserProviderPort {
  readonly redirectUrl: string;
  readonly settings: OAuthSettings | undefined;
  read(): Credentials;
  change(changes: Credentials): void;
  onRedirect(redirect: Redirect): void;
  /** The redirect whose user has returned. */
  finishing(): Redirect | undefined;
}

export function createUserProvider(port: UserProviderPort): OAuthClientProvider {
  const { redirectUrl, settings, read, change } = port;
  const { client_id, client_secret, client_metadata_url } = settings ?? {};
  let [state, verifier] = ["", ""];
  let client: ClientInformation | undefined;
  return {
    redirectUrl,
    clientMetadata: toClientMetadata(redirectUrl, settings),
    ...(client_metadata_url === undefined ? {} : { clientMetadataUrl: client_metadata_url }),
    state() {
      state = randomBytes(24).toString("base64url");
      return state;
    },
    clientInformation() {
      if (client_id === undefined) {
        client = port.finishing()?.client ?? read().client;
        return client;
      }
      return { client_id, ...(client_secret === undefined ? {} : { client_secret }) };
    },
    saveClientInformation(given) {
      if (client_id !== undefined) return;
      client = given;
      change({ client });
    },
    tokens: () => read().tokens,
    // Stored with the client they were issued to: another client cannot refresh them.
    saveTokens: (tokens) => change({ tokens, ...(client === undefined ? {} : { client }) }),
    redirectToAuthorization: ({ href }) => port.onRedirect({ url: href, state, verifier, client }),
    saveCodeVerifier(given) {
      verifier = given;
    },
    codeVerifier: () => port.finishing()?.verifier ?? "",
    saveDiscoveryState: (discovery) => change({ discovery }),
    discoveryState: () => read().discovery,
    // The SDK calls this with the issuer of the metadata before it uses the metadata.
    saveAuthorizationServerUrl: (issuer) => checkIssuer(issuer, settings),
    invalidateCredentials(scope) {
      const isAll = scope === "all";
      change({
        ...(isAll || scope === "tokens" ? { tokens: undefined } : {}),
        ...(isAll || scope === "client" ? { client: undefined } : {}),
        ...(isAll || scope === "discovery" ? { discovery: undefined } : {}),
      });
    },
  };
}

function checkIssuer(issuer: string, settings: OAuthSettings | undefined): void {
  if (settings?.issuer === undefined || issuer === settings.issuer) return;
  throw new Error(`the authorisation server names itself ${issuer}, but oauth.issuer is ${settings.issuer}`);
}

function toClientMetadata(redirectUrl: string, settings: OAuthSettings | undefined): OAuthClientMetadata {
  return {
    client_name: "A2E host",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: settings?.client_secret === undefined ? "none" : "client_secret_post",
    ...(settings === undefined || settings.scope === "" ? {} : { scope: settings.scope }),
  };
}
