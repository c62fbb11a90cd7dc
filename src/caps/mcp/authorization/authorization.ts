// OAuth 2.1 for the servers of one owner: the host, or an agent. Discovery, PKCE, registration and refresh are the SDK's;
// this is what it does not know: where credentials are kept, and how a user gets to the authorisation server and back.
import { randomBytes } from "node:crypto";
import type { OAuthClientMetadata, OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Logger } from "../../../host/logger.ts";
import { mcpLimits } from "../limits.ts";
import { mcp } from "../protocol.ts";
import { loadSdk } from "../sdk.ts";
import type { OAuthSettings, ServerConfig } from "../server-config.ts";
import type { CallbackServer } from "./callback-server.ts";
import type { CredentialStore, Credentials } from "./credential-store.ts";

export interface AuthorizationOptions {
  /** Whose credentials these are: nobody else's session gets to use them. */
  readonly owner: string;
  readonly store: CredentialStore;
  readonly callbacks: CallbackServer;
  readonly log: Logger;
  /** True where the agent may authorise unless a config says otherwise. */
  readonly isAgents: boolean;
}

interface Pending {
  readonly url: string;
  readonly state: string;
  readonly timer: NodeJS.Timeout;
}

export class Authorization {
  readonly #options: AuthorizationOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #onAuthorized = new Map<string, () => Promise<void>>();

  constructor(options: AuthorizationOptions) {
    this.#options = options;
  }

  /** What to do once a user has authorised. */
  onAuthorized(serverId: string, callback: () => Promise<void>): void {
    this.#onAuthorized.set(serverId, callback);
  }

  /** What the SDK asks when a server wants a token; undefined where none is to be got. */
  async provider(config: ServerConfig): Promise<OAuthClientProvider | undefined> {
    const { endpoint } = config;
    if (endpoint.transport === "stdio" || endpoint.transport === "ws") return undefined;
    const hasToken = Object.keys(endpoint.headers).some((name) => name.toLowerCase() === "authorization");
    if (endpoint.oauth === undefined && hasToken) return undefined;
    const { client_id, client_secret, scope = "", grant } = endpoint.oauth ?? {};
    if (grant === "client_credentials") {
      const { ClientCredentialsProvider } = await loadSdk();
      if (client_id === undefined || client_secret === undefined)
        throw new Error("oauth: client_credentials needs client_id and client_secret");
      return new ClientCredentialsProvider({
        clientId: client_id,
        clientSecret: client_secret,
        ...(scope === "" ? {} : { scope }),
      });
    }
    return this.#createProvider(config, endpoint.url.href, endpoint.oauth);
  }

  /** Where the agent's user has to go; empty where nobody is awaited, or where it is not for agents to know. */
  pendingUrlFor({ id, endpoint }: ServerConfig): string {
    const by = endpoint.transport === "stdio" ? undefined : endpoint.oauth?.authorize_by;
    const isShown = by === undefined ? this.#options.isAgents : by === "agent";
    return isShown ? (this.#pending.get(id)?.url ?? "") : "";
  }

  /** Takes what a user was sent back with. Throws where nobody asked for it. */
  async finish(config: ServerConfig, params: URLSearchParams): Promise<void> {
    const pending = this.#pending.get(config.id);
    if (pending === undefined || params.get("state") !== pending.state)
      throw mcp.error("forbidden", `no authorisation of "${config.id}" with this state is awaited`);
    const { endpoint } = config;
    const provider = await this.provider(config);
    if (endpoint.transport === "stdio" || provider === undefined)
      throw mcp.error("mcp_capability_missing", `MCP server "${config.id}" takes no authorisation`);
    this.#forget(config.id);
    const { StreamableHTTPClientTransport } = await loadSdk();
    const transport = new StreamableHTTPClientTransport(endpoint.url, { authProvider: provider });
    try {
      await transport.finishAuth(params);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw mcp.error("mcp_server_unavailable", `the authorisation of "${config.id}" failed: ${why}`, { cause });
    }
    await this.#onAuthorized.get(config.id)?.();
  }

  close(): void {
    for (const id of [...this.#pending.keys()]) this.#forget(id);
  }

  #createProvider(config: ServerConfig, server: string, settings: OAuthSettings | undefined): OAuthClientProvider {
    const { owner, store, callbacks } = this.#options;
    const redirectUrl = callbacks.url.href;
    const change = (changes: Credentials) => store.set(owner, server, { ...store.get(owner, server), ...changes });
    const { client_id, client_secret, client_metadata_url } = settings ?? {};
    let state = "";
    return {
      redirectUrl,
      clientMetadata: toClientMetadata(redirectUrl, settings),
      ...(client_metadata_url === undefined ? {} : { clientMetadataUrl: client_metadata_url }),
      state() {
        state = randomBytes(24).toString("base64url");
        return state;
      },
      clientInformation() {
        if (client_id === undefined) return store.get(owner, server).client;
        return { client_id, ...(client_secret === undefined ? {} : { client_secret }) };
      },
      saveClientInformation(client) {
        if (client_id === undefined) change({ client });
      },
      tokens: () => store.get(owner, server).tokens,
      saveTokens: (tokens) => change({ tokens }),
      redirectToAuthorization: (url) => this.#await(config, url.href, state),
      saveCodeVerifier: (verifier) => change({ verifier }),
      codeVerifier: () => store.get(owner, server).verifier ?? "",
      saveDiscoveryState: (discovery) => change({ discovery }),
      discoveryState: () => store.get(owner, server).discovery,
      invalidateCredentials(scope) {
        const isAll = scope === "all";
        change({
          ...(isAll || scope === "tokens" ? { tokens: undefined } : {}),
          ...(isAll || scope === "client" ? { client: undefined } : {}),
          ...(isAll || scope === "verifier" ? { verifier: undefined } : {}),
          ...(isAll || scope === "discovery" ? { discovery: undefined } : {}),
        });
      },
    };
  }

  #await(config: ServerConfig, url: string, state: string): void {
    const { log, callbacks } = this.#options;
    this.#forget(config.id);
    const timer = setTimeout(() => this.#forget(config.id), mcpLimits.authorizationTimeoutMs).unref();
    this.#pending.set(config.id, { url, state, timer });
    callbacks.expect(state, (params) => this.finish(config, params));
    // An agent that may authorise is told; whoever reads the log is the operator of everything else.
    if (this.pendingUrlFor(config) === "")
      log.warn("an MCP server wants an authorisation: open this address in a browser on this machine", {
        server: config.id,
        url,
      });
  }

  #forget(serverId: string): void {
    const pending = this.#pending.get(serverId);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    this.#pending.delete(serverId);
    this.#options.callbacks.forget(pending.state);
  }
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
