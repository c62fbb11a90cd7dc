// Commands that talk to the host of this folder's config over HTTPS.
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { buildConnector, RequestInit as UndiciInit } from "undici";
import type { A2EHostConfig } from "../../config/schema.ts";
import type { ClientTls } from "../../transports/client-tls.ts";

/**
 * Trusts exactly the certificate that the config names, by any address: the command uses 127.0.0.1, which is rarely a
 * name in it. Undefined without TLS, or if the file cannot be read: then the connection fails, and says why.
 */
export function ownHostTls({ server }: Pick<A2EHostConfig, "server">): ClientTls | undefined {
  if (server.tls.cert === undefined) return undefined;
  try {
    // The first certificate alone: its intermediates have issued those of others too.
    const ca = String(new X509Certificate(readFileSync(server.tls.cert)));
    return { ca, allowPartialTrustChain: true, checkServerIdentity: () => undefined };
  } catch {
    return undefined;
  }
}

export async function fetchHost(url: string, init: RequestInit, tls: ClientTls | undefined): Promise<Response> {
  if (tls === undefined) return fetch(url, init);
  const undici = await import("undici");
  const agent = new undici.Agent({ connect: tls as buildConnector.BuildOptions });
  try {
    const response = await undici.fetch(url, { ...(init as UndiciInit), dispatcher: agent });
    return new Response(await response.text(), { status: response.status });
  } finally {
    await agent.close();
  }
}
