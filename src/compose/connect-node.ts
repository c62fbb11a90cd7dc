// Additions to `connect` for Node: faster HTTP, hosts as child processes, and a host in the same process.
import type { A2EHost } from "../host/host.ts";
import type { Capability } from "../protocol/table/capability.ts";
import type { Transport } from "../protocol/transport.ts";
import type { ClientTls } from "../transports/client-tls.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { createNodeHttpTransport } from "../transports/http/http-node.ts";
import { createSubprocessTransport, type SubprocessOptions } from "../transports/stdio/subprocess.ts";
import { createNodeWebSocketTransport } from "../transports/websocket/websocket-node.ts";
import { type ConnectedClient, type ConnectOptions, connectOver, createTransportTo } from "./connect.ts";

type Tables = Record<string, Capability>;

export interface NodeConnectOptions<Extra extends Tables = Record<never, Capability>> extends ConnectOptions<Extra> {
  /** For `https:` and `wss:` addresses whose certificate Node does not trust, or that require a client certificate. */
  tls?: ClientTls;
}

/**
 * Connects to a host and shakes hands. The host is at an address (`http:`, `https:`, `ws:`, `wss:`), or started as a
 * child: `stdio:a2e stdio`, split at spaces, or `{ command, args }`; or reached over a transport made elsewhere.
 */
export function connect<Extra extends Tables = Record<never, Capability>>(
  target: string | SubprocessOptions | Transport,
  { tls, ...options }: NodeConnectOptions<Extra> = {},
): Promise<ConnectedClient<Extra>> {
  return connectOver(toTransport(target, options, tls), options as ConnectOptions<Extra>);
}

function toTransport(
  target: string | SubprocessOptions | Transport,
  options: ConnectOptions<Tables>,
  tls: ClientTls | undefined,
): Transport {
  if (typeof target !== "string") return "command" in target ? createSubprocessTransport(target) : target;
  const secured = tls === undefined ? {} : { tls };
  if (!target.startsWith("stdio:"))
    return createTransportTo(target, options, {
      http: (link) => createNodeHttpTransport({ ...link, ...secured }),
      webSocket: (link) => createNodeWebSocketTransport({ ...link, ...secured }),
    });
  const [command = "", ...args] = target.slice("stdio:".length).trim().split(/\s+/);
  if (command === "") throw new TypeError('"stdio:" needs a command, as in "stdio:npx a2e stdio"');
  return createSubprocessTransport({ command, args });
}

/** Connects to a host in this process; nothing is serialised. Disconnecting ends the session, not the host. */
export function connectEmbedded<Extra extends Tables = Record<never, Capability>>(
  host: A2EHost,
  options: ConnectOptions<Extra> = {},
): Promise<ConnectedClient<Extra>> {
  const { sessionId } = options;
  const open = async () => {
    if (sessionId === undefined) return host.sessions.create();
    const session = await host.sessions.find(sessionId);
    if (session === undefined) throw new Error("this host has no such session");
    return session;
  };
  return connectOver(createDirectTransport(open), options);
}
