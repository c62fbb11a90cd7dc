// How a client checks the certificate of a host, and which certificate it shows itself.
import type { ConnectionOptions } from "node:tls";

/**
 * Options of Node's TLS. `ca` replaces the certificate authorities of Node; the variable NODE_EXTRA_CA_CERTS adds to
 * them without any code. `cert` and `key` are the client's own, for hosts with `server.tls.client_ca`.
 */
export type ClientTls = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "servername" | "allowPartialTrustChain" | "checkServerIdentity"
>;
