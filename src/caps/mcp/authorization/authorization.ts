// OAuth 2.1 for the servers of one owner: the host, or an agent. The SDK does discovery, PKCE, registration and
// refresh. This file adds the storage of credentials and the user's way to the authorisation server and back.
import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Logger } from "../../../plugin/logger.ts";
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
  /** The owner of these credentials; sessions of other owners cannot use them. */
  readonly owner: string;
  readonly store: CredentialStore;
  readonly callbacks: CallbackServer;
  readonly log: Logger;
  readonly fetch: typeof fetch;
  /** True if the agent may authorise unless the config of the server says otherwise. */
  readonly isAgents: boolean;
}

/** A user who was sent to an authorisation server and has not returned yet. */
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

  /** Sets the callback that runs once a user has authorised `serverId`. */
  onAuthorized(serverId: string, callback: () => Promise<void>): void {
    this.#onAuthorized.set(serverId, callback);
  }

  /** The SDK asks this provider for tokens. Undefined if the server takes none, or has one in its headers. */
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

  /** True while a user is expected to return from the authorisation server. */
  isAwaiting(serverId: string): boolean {
    return this.#pending.has(serverId);
  }

  /** The address that the agent's user has to open; empty if no user is awaited or the agent must not see it. */
  pendingUrlFor({ id, endpoint }: ServerConfig): string {
    const by = endpoint.transport === "stdio" ? undefined : endpoint.oauth?.authorize_by;
    const isShown = by === undefined ? this.#options.isAgents : by === "agent";
    return isShown ? (this.#pending.get(id)?.url ?? "") : "";
  }

  /**
   * Finishes an authorisation with the parameters of the callback address. Throws if no authorisation with this state
   * is pending.
   */
  async finish(config: ServerConfig, params: URLSearchParams): Promise<void> {
    const pending = this.#pending.get(config.id);
    if (pending === undefined || pending.isBack || params.get("state") !== pending.state)
      throw mcp.error("forbidden", `no authorisation of "${config.id}" with this state is awaited`);
    const { endpoint } = config;
    const provider = await this.provider(config);
    if (endpoint.transport === "stdio" || provider === undefined)
      throw mcp.error("mcp_capability_missing", `MCP server "${config.id}" does not support authorisation`);
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

  /** Stops waiting for a user to authorise this server. */
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
    // If the agent may authorise, it gets the address from pendingUrlFor(); otherwise the operator reads it in the log.
    if (this.pendingUrlFor(config) === "")
      log.warn("an MCP server requires authorisation: open this address in a browser on this machine", {
        server: config.id,
        url: redirect.url,
      });
  }
}
