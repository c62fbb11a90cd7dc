// The certificate of a client, as a credential.
import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import type { ClientCertificate } from "../../host/authentication.ts";

/** Undefined over plain HTTP, without a certificate, and for one that was not accepted. */
export function clientCertificateOf({ socket }: Pick<IncomingMessage, "socket">): ClientCertificate | undefined {
  // OpenSSL calls a resumed connection without a certificate authorized, so both are checked.
  if (!isEncrypted(socket) || !socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  // The subject is shown with a name per line.
  const commonNames = certificate.subject.split("\n").filter((line) => line.startsWith("CN="));
  return {
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    common_name: commonNames.length === 1 ? (commonNames[0] as string).slice("CN=".length) : "",
    alternative_names: splitAlternativeNames(certificate.subjectAltName ?? ""),
    expires_at: Date.parse(certificate.validTo),
  };
}

/** Why the certificate of this client was not accepted; undefined for a client with a good certificate, or without. */
export function refusedCertificate({ socket }: Pick<IncomingMessage, "socket">): string | undefined {
  if (!isEncrypted(socket) || socket.authorized || !socket.authorizationError) return undefined;
  if (socket.getPeerX509Certificate() === undefined) return undefined;
  return `the client certificate was not accepted (${socket.authorizationError}): send a certificate that server.tls.client_ca has issued, or none`;
}

function isEncrypted(socket: IncomingMessage["socket"]): socket is TLSSocket {
  return (socket as Partial<TLSSocket>).encrypted === true;
}

/**
 * Node joins the names with commas, and quotes a name that has a comma itself. Without the quotes, a name that contains
 * `, DNS:other.example` would look like two names.
 */
export function splitAlternativeNames(joined: string): string[] {
  const names = joined.match(/[A-Za-z ]+:(?:"(?:[^"\\]|\\.)*"|[^,"]*)/g) ?? [];
  return names.map((name) => {
    const [, kind = "", value = ""] = /^ *([A-Za-z ]+):(.*)$/s.exec(name) ?? [];
    return `${kind}:${value.startsWith('"') ? (JSON.parse(value) as string) : value}`;
  });
}
