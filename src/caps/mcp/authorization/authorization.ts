// OAuth 2.1 for the servers of one owner: the host, or an agent. Discovery, PKCE, registration and refresh are the SDK's;
// this is what it does not know: where credentials are kept, and how a user gets to the authorisation server and back.
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Logger } from "../../../host/logger.ts";
import { messageOf } from "../../../protocol/errors.ts";
import { mcpLimits } from "../limits.ts";
import { mcp } from "../protocol.ts";
import { createRedaction } from "../redaction.ts";
import { loadSdk } from "../sdk/sdk.ts";
import type { ServerConfig } from "../server-config.ts";
import type { CallbackServer } from "./callback-server.ts";
import type { CredentialStore } from "./credential-store.ts";
import { createMachineProvider } from "./machine-provider.ts";
import { createUserProvider, type Redirect } from "./user-provider.ts";

export interface AuthorizationOptions {
  /** Whose credentials these are: nobody else's session gets to use them. */
  readonly owner: string;
  readonly store: CredentialStore;
  readonly callbacks: CallbackServer;
  readonly log: Logger;
  readonly fetch: typeof fetch;
  /** True where the agent may authorise unless a config says otherwise. */
  readonly isAgents: boolean;
}

/** A user on the way to an authorisation server. */
interface Pending extends Redirect {
  readonly timer: NodeJS.Timeout;
  isBack: boolean;
}

export class Authorization {
  readonly #options: AuthorizationOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #onAuthorized = new Map<string, () => Promise<void>>();

  constructor(options: AuthorizationOptions) {
    this.#options = options;
  }

  get owner(): string {
    return this.#options.owner;
  }

  /** What to do once a user has authorised. */
  onAuthorized(serverId: string, callback: () => Promise<void>): void {
    this.#onAuthorized.set(serverId, callback);
  }

  /** What the SDK asks when a server wants a token; undefined where none is to be got. */
  async provider(config: ServerConfig): Promise<OAuthClientProvider | undefined> {
    const { id, endpoint } = config;
    if (endpoint.transport === "stdio" || endpoint.transport === "ws") return undefined;
    const { oauth, headers, url } = endpoint;
    const hasToken = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
    if (oauth === undefined && hasToken) return undefined;
    const { owner, store, callbacks, fetch } = this.#options;
    const machine = oauth === undefined ? undefined : createMachineProvider(oauth, await loadSdk(), fetch);
    if (machine !== undefined) return machine;
    const read = () => store.get(owner, url.href);
    return createUserProvider({
      redirectUrl: callbacks.url.href,
      settings: oauth,
      read,
      change: (changes) => store.set(owner, url.href, { ...read(), ...changes }),
      onRedirect: (redirect) => this.#await(config, redirect),
      finishing: () => {
        const pending = this.#pending.get(id);
        return pending?.isBack === true ? pending : undefined;
      },
    });
  }

  /** True while a user is expected to come back. */
  isAwaiting(serverId: string): boolean {
    return this.#pending.has(serverId);
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
    if (pending === undefined || pending.isBack || params.get("state") !== pending.state)
      throw mcp.error("forbidden", `no authorisation of "${config.id}" with this state is awaited`);
    const { endpoint } = config;
    const provider = await this.provider(config);
    if (endpoint.transport === "stdio" || provider === undefined)
      throw mcp.error("mcp_capability_missing", `MCP server "${config.id}" takes no authorisation`);
    pending.isBack = true;
    const { StreamableHTTPClientTransport } = await loadSdk();
    const transport = new StreamableHTTPClientTransport(endpoint.url, {
      authProvider: provider,
      fetch: this.#options.fetch,
      skipIssuerMetadataValidation: endpoint.oauth?.issuer !== undefined,
    });
    try {
      await transport.finishAuth(params);
    } catch (cause) {
      const why = createRedaction(config)(messageOf(cause));
      throw mcp.error("mcp_server_unavailable", `the authorisation of "${config.id}" failed: ${why}`, { cause });
    } finally {
      if (this.#pending.get(config.id) === pending) this.forget(config.id);
    }
    await this.#onAuthorized.get(config.id)?.();
  }

  /** Nobody is awaited for this server any more. */
  forget(serverId: string): void {
    const pending = this.#pending.get(serverId);
    if (pending === undefined) return;
    clearTimeout(pending.timer);
    this.#pending.delete(serverId);
    this.#options.callbacks.forget(pending.state);
  }

  close(): void {
    for (const id of [...this.#pending.keys()]) this.forget(id);
  }

  #await(config: ServerConfig, redirect: Redirect): void {
    const { log, callbacks } = this.#options;
    this.forget(config.id);
    const timer = setTimeout(() => this.forget(config.id), mcpLimits.authorizationTimeoutMs).unref();
    this.#pending.set(config.id, { ...redirect, timer, isBack: false });
    callbacks.expect(redirect.state, (params) => this.finish(config, params));
    // An agent that may authorise is told; whoever reads the log is the operator of everything else.
    if (this.pendingUrlFor(config) === "")
      log.warn("an MCP server wants an authorisation: open this address in a browser on this machine", {
        server: config.id,
        url: redirect.url,
      });
  }
}
