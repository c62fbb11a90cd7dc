// Reads the certificate, the key and the client CA of a server, and explains everything that is wrong with them. OpenSSL
// would report most of it only at the first connection, in its own words.
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

export interface TlsFiles {
  /** Path of the certificate in PEM format, followed by its intermediates. */
  cert: string;
  /** Path of its private key in PEM format. */
  key: string;
  /** Path of the certificates, in PEM format, whose client certificates are accepted. */
  clientCa?: string;
}

export interface TlsContents {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string[];
  /** When the server's own certificate expires. */
  readonly expiresAt: number;
}

/** `field` is the file that must be replaced. */
export class TlsFileError extends Error {
  override readonly name = "TlsFileError";
  readonly field: keyof TlsFiles;

  constructor(field: keyof TlsFiles, path: string, problem: string, options?: ErrorOptions) {
    super(`${path} ${problem}`, options);
    this.field = field;
  }
}

/** Throws a TlsFileError for the first problem. */
export function readTlsFiles(files: TlsFiles, now: number): TlsContents {
  const cert = readText("cert", files.cert);
  const certificate = parseCertificates("cert", files.cert, cert)[0] as X509Certificate;
  checkDates("cert", files.cert, certificate, now);
  const key = readText("key", files.key);
  if (!certificate.checkPrivateKey(parseKey(files.key, key)))
    throw new TlsFileError("key", files.key, `is not the key of the certificate in ${files.cert}`);
  const expiresAt = Date.parse(certificate.validTo);
  if (files.clientCa === undefined) return { cert, key, expiresAt };
  const trusted = parseCertificates("clientCa", files.clientCa, readText("clientCa", files.clientCa));
  for (const one of trusted) checkDates("clientCa", files.clientCa, one, now);
  return { cert, key, ca: trusted.map(String), expiresAt };
}

function readText(field: keyof TlsFiles, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const problem = readProblems[(cause as NodeJS.ErrnoException).code ?? ""] ?? "cannot be read";
    throw new TlsFileError(field, path, problem, { cause });
  }
}

const readProblems: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  ENOTDIR: "does not exist",
  EISDIR: "is a folder: name the file in it",
  EACCES: "may not be read by this user",
};

/** At least one. */
function parseCertificates(field: keyof TlsFiles, path: string, text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const advice = "convert it with `openssl x509 -inform der -in FILE -out cert.pem`";
  if (blocks.length === 0) throw new TlsFileError(field, path, `has no certificate in PEM format: ${advice}`);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw new TlsFileError(field, path, "has a certificate that cannot be parsed", { cause });
  }
}

function parseKey(path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (cause) {
    const problem = text.includes("ENCRYPTED")
      ? "is encrypted: store the key without a passphrase, readable by this user only"
      : "has no private key in PEM format";
    throw new TlsFileError("key", path, problem, { cause });
  }
}

function checkDates(field: keyof TlsFiles, path: string, certificate: X509Certificate, now: number): void {
  if (Date.parse(certificate.validTo) <= now)
    throw new TlsFileError(field, path, `has a certificate that expired on ${certificate.validTo}: renew it`);
  if (Date.parse(certificate.validFrom) > now)
    throw new TlsFileError(field, path, `has a certificate that is not valid before ${certificate.validFrom}`);
}
