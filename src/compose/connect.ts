// Connects to an address and returns a client that has completed the handshake. Runs in browsers: nothing here needs
// Node.
import { tables } from "../caps/tables.generated.ts";
import { A2EClient, type ClientOptions } from "../client/client.ts";
import { type WithApis, withApis } from "../client/with-apis.ts";
import { protocolCapabilities } from "../protocol/dialects.ts";
import type { Capability } from "../protocol/table/capability.ts";
import type { Transport } from "../protocol/transport.ts";
import type { ReconnectOptions } from "../transports/backoff.ts";
import { createHttpTransport } from "../transports/http/http.ts";
import { createWebSocketTransport } from "../transports/websocket/websocket.ts";

type Tables = Record<string, Capability>;
/** No tables beside those of the product. */
type NoTables = Record<never, Capability>;

export interface ConnectOptions<Extra extends Tables = NoTables> extends Omit<ClientOptions, "transport"> {
  /** Tables of other capabilities: each is asked for and becomes a property of the client. */
  tables?: Extra;
  /** Joins an existing session instead of creating one. */
  sessionId?: string;
  reconnect?: ReconnectOptions;
}

/** A client with a typed API per capability: `client.tools.call({ … })`. */
export type ConnectedClient<Extra extends Tables = NoTables> = WithApis<typeof tables & Extra>;

/** Options that a transport to an address needs. */
export interface LinkOptions {
  url: string;
  token?: string;
  sessionId?: string;
  reconnect?: ReconnectOptions;
}

/**
 * Connects to the host at an `http:`, `https:`, `ws:` or `wss:` address, or over any transport, and shakes hands. In
 * Node, `connect` of `a2e` is faster over HTTP and also starts hosts as child processes.
 */
export function connect<Extra extends Tables = NoTables>(
  target: string | Transport,
  options: ConnectOptions<Extra> = {},
): Promise<ConnectedClient<Extra>> {
  const transport =
    typeof target === "string"
      ? createTransportTo(target, options, { http: createHttpTransport, webSocket: createWebSocketTransport })
      : target;
  return connectOver(transport, options);
}

/** Shakes hands over a transport. */
export async function connectOver<Extra extends Tables = NoTables>(
  transport: Transport,
  { tables: extra, sessionId: _, reconnect: __, ...options }: ConnectOptions<Extra> = {},
): Promise<ConnectedClient<Extra>> {
  const extraNames = Object.values(extra ?? {}).map(({ name }) => name);
  const client = await A2EClient.connect({
    capabilities: [...protocolCapabilities, ...extraNames],
    ...options,
    transport,
  });
  return withApis(client, { ...tables, ...extra } as typeof tables & Extra);
}

export function createTransportTo(
  address: string,
  { authToken, sessionId, reconnect }: ConnectOptions<Tables>,
  create: { http(options: LinkOptions): Transport; webSocket(options: LinkOptions): Transport },
): Transport {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  // Browsers refuse such addresses, and they end up in messages.
  if (url?.username || url?.password)
    throw new TypeError("the address of a host has no place for a name and a password: use authToken");
  const options: LinkOptions = {
    url: address,
    ...(authToken === undefined ? {} : { token: authToken }),
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(reconnect === undefined ? {} : { reconnect }),
  };
  const scheme = url?.protocol;
  if (scheme === "http:" || scheme === "https:") return create.http(options);
  if (scheme === "ws:" || scheme === "wss:") return create.webSocket(options);
  throw new TypeError(`"${address}" is not an address of a host: use http://, https://, ws:// or wss://`);
}
