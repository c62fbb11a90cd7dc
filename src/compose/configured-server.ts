// From a config to a host behind its HTTP door.
import type { A2EHostConfig } from "../config/schema.ts";
import type { A2EHost } from "../host/host.ts";
import { builtInRoles } from "../rights/roles.ts";
import { type ServerOptions, startServer } from "../server/http-server.ts";
import type { HostMetrics } from "../telemetry/host-metrics.ts";
import { checkBinding } from "./binding.ts";
import { type ConfiguredHostOptions, startConfiguredHost } from "./configured-host.ts";
import { createMcpRoute } from "./mcp-route.ts";
import { openMetrics } from "./telemetry.ts";
import { checkTlsFiles, toTlsOptions } from "./tls-config.ts";

export interface ConfiguredServer {
  readonly host: A2EHost;
  readonly url: string;
  readonly port: number;
  /**
   * Lets calls in flight finish for `drainMs` (by default the configured time), then ends everything. Calling it twice
   * is allowed; the shorter of both times applies.
   */
  close(drainMs?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Rejects with a ConfigError if other machines could reach a host without a token, or if the certificate cannot be used.
 */
export async function startConfiguredServer(
  config: A2EHostConfig,
  options: ConfiguredHostOptions = {},
): Promise<ConfiguredServer> {
  checkBinding(config);
  checkTlsFiles(config, Date.now());
  const metrics = config.telemetry.metrics ? await openMetrics() : undefined;
  const host = await startConfiguredHost(config, metrics === undefined ? options : withMetrics(options, metrics));
  const { host: address, port, allowed_hosts, cors, keep_alive_seconds, public_url, tls } = config.server;
  try {
    const server = await startServer(host, {
      host: address,
      port,
      allowedHosts: allowed_hosts,
      corsOrigins: cors.origins,
      ...(public_url === undefined ? {} : { publicUrl: public_url }),
      ...toTlsOptions(tls),
      ...authorizationOf(config),
      keepAliveMs: keep_alive_seconds * 1000,
      routes: [createMcpRoute(host)],
      ...(metrics === undefined ? {} : { metrics: () => metrics.render(host) }),
    });
    const close = async (drainMs = host.limits.drainMs) => {
      // Together: the server waits for streams, which end with their sessions.
      await Promise.all([host.close(drainMs), server.close(drainMs)]);
      metrics?.close();
    };
    return { host, url: server.url, port: server.port, close, [Symbol.asyncDispose]: () => close(0) };
  } catch (error) {
    await host.close(0);
    metrics?.close();
    throw error;
  }
}

/** Where clients without a token get one, and the roles that they may ask for as scopes. */
function authorizationOf({ auth, roles }: A2EHostConfig): Pick<ServerOptions, "authorization"> {
  if (auth.jwt.length === 0) return {};
  const scopes = [...new Set([...Object.keys(builtInRoles), ...Object.keys(roles)])];
  return { authorization: { issuers: auth.jwt.map(({ issuer }) => issuer), scopes } };
}

/** Outermost, so that the time of other interceptors is measured too. */
function withMetrics(options: ConfiguredHostOptions, { interceptor }: HostMetrics): ConfiguredHostOptions {
  const interceptors = [interceptor, ...(options.parts?.interceptors ?? [])];
  return { ...options, parts: { ...options.parts, interceptors } };
}
