// The documents of an issuer of JWTs: its metadata, and where its keys are.
import type { Limits } from "../protocol/limits.ts";

export type IssuerLimits = Pick<Limits, "maxIssuerBytes" | "issuerTimeoutMs">;

export interface IssuerNetwork {
  readonly fetch: typeof globalThis.fetch;
  readonly limits: IssuerLimits;
}

/** Rejects if the document is not there in time, too large, or not a JSON object. */
export async function fetchDocument(url: string, { fetch, limits }: IssuerNetwork): Promise<Record<string, unknown>> {
  requireSafeAddress(url);
  // A redirect could lead to an address that is not in the config.
  const signal = AbortSignal.timeout(limits.issuerTimeoutMs);
  const response = await fetch(url, { signal, redirect: "error", headers: { accept: "application/json" } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered with status ${response.status}`);
  }
  const document: unknown = JSON.parse(await readText(response, url, limits.maxIssuerBytes));
  if (typeof document === "object" && document !== null && !Array.isArray(document)) {
    return document as Record<string, unknown>;
  }
  throw new Error(`${url} is not a JSON object`);
}

async function readText(response: Response, url: string, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`${url} has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The address of the issuer's keys, from its OpenID Connect or OAuth 2.0 metadata (RFC 8414). */
export async function discoverKeys(issuer: string, network: IssuerNetwork): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const problems: unknown[] = [];
  for (const place of places) {
    try {
      const metadata = await fetchDocument(place, network);
      // Otherwise one tenant of a server could answer for another.
      if (metadata.issuer !== issuer) throw new Error(`${place} is the metadata of another issuer`);
      if (typeof metadata.jwks_uri !== "string") throw new Error(`${place} has no jwks_uri`);
      return metadata.jwks_uri;
    } catch (error) {
      problems.push(error);
    }
  }
  throw new AggregateError(problems, `the keys of the issuer ${issuer} were not found`);
}

/** Keys that were fetched in plain text from another machine could be those of anyone on the way. */
export function requireSafeAddress(address: string): void {
  const { protocol, hostname } = new URL(address);
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === "https:" || (protocol === "http:" && isLoopback)) return;
  throw new Error(`${address} must be an https address`);
}
