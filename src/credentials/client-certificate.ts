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

const labels: Record<Exclude<CertificateField, "common_name">, string> = { uri: "URI", dns: "DNS", email: "email" };

/**
 * The certificate of the peer of a TLS connection. The connection must have checked it against the configured authority
 * (`authorized` of the socket): here it is only read.
 */
export function createClientCertificates({
  field = "common_name",
  rolesOf,
  clock = systemClock,
}: ClientCertificatesOptions): Credential {
  return {
    // A token names its principal more precisely than the connection that carries it.
    recognises: ({ token, certificate }) => token === "" && certificate !== undefined,
    authenticate({ certificate = {} }) {
      const names = namesIn(certificate, field);
      const [name] = names;
      // With several names, it would depend on their order who this is.
      if (name === undefined || names.length > 1) {
        return { refused: "wrong", detail: `the certificate has ${names.length} names in the field ${field}` };
      }
      const expiresAt = Date.parse(certificate.valid_to ?? "");
      if (Number.isNaN(expiresAt)) return { refused: "wrong", detail: "the certificate has no end of validity" };
      if (expiresAt <= clock.now()) return { refused: "expired", detail: "the certificate has expired" };
      const roles = rolesOf(name);
      if (roles === undefined) return { refused: "wrong", detail: `no role for the certificate of ${name}` };
      const id = `cert:${name}`;
      return { id, roles, expiresAt, chain: [id] };
    },
  };
}

function namesIn({ subject, subjectaltname = "" }: VerifiedCertificate, field: CertificateField): string[] {
  const names = field === "common_name" ? [subject?.CN ?? []].flat() : alternativeNames(subjectaltname, labels[field]);
  return names.filter((name) => name !== "");
}

/** As Node writes them: `DNS:a.example, URI:"with, comma"`. A name with special characters is a JSON string. */
function alternativeNames(text: string, label: string): string[] {
  const names: string[] = [];
  for (const [, found, quoted, plain] of text.matchAll(/(?:^|, )([A-Za-z ]+):(?:("(?:[^"\\]|\\.)*")|([^,]*))/gy)) {
    if (found === label) names.push(quoted === undefined ? (plain ?? "") : (JSON.parse(quoted) as string));
  }
  return names;
}
