import { type Clock, systemClock } from "../protocol/envelope.ts";
import type { Credential, VerifiedCertificate } from "./credential.ts";

/** Which field of a certificate names the principal. */
export type CertificateField = "common_name" | "uri" | "dns" | "email";

export interface ClientCertificatesOptions {
  field?: CertificateField;
  /** Roles of the principal of this name; undefined refuses it. */
  rolesOf: (name: string) => readonly string[] | undefined;
  clock?: Clock;
}

const kinds: Record<Exclude<CertificateField, "common_name">, string> = { uri: "URI", dns: "DNS", email: "email" };

/** The certificate of the peer of a TLS connection. The server has verified it: here it only names the principal. */
export function createClientCertificates({
  field = "common_name",
  rolesOf,
  clock = systemClock,
}: ClientCertificatesOptions): Credential {
  return {
    // A token names its principal more precisely than the connection that carries it.
    recognises: ({ token, certificate }) => token === "" && certificate !== undefined,
    authenticate({ certificate }) {
      const names = certificate === undefined ? [] : namesIn(certificate, field);
      const [name] = names;
      // With several names, it would depend on their order who this is.
      if (certificate === undefined || name === undefined || names.length > 1) {
        return { refused: "wrong", detail: `the certificate has ${names.length} names in the field ${field}` };
      }
      const expiresAt = certificate.expires_at;
      // Also if it is not a number.
      if (!(clock.now() < expiresAt)) return { refused: "expired", detail: "the certificate has expired" };
      const roles = rolesOf(name);
      if (roles === undefined) return { refused: "wrong", detail: `no role for the certificate of ${name}` };
      const id = `cert:${name}`;
      return { id, isAuthenticated: true, roles, expiresAt, chain: [id] };
    },
  };
}

function namesIn({ common_name, alternative_names }: VerifiedCertificate, field: CertificateField): string[] {
  if (field === "common_name") return [common_name].filter((name) => name !== "");
  const prefix = `${kinds[field]}:`;
  const named = alternative_names.filter((name) => name.startsWith(prefix) && name !== prefix);
  return named.map((name) => name.slice(prefix.length));
}
