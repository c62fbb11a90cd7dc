// Certificates for tests, made by openssl: Node can read certificates, and not make them.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Need } from "../../testing/needs.suite.ts";

export const openssl: Need = { name: "openssl", isMet: spawnSync("openssl", ["version"]).status === 0 };

export interface Issued {
  readonly cert: string;
  readonly key: string;
}

interface CertificateOptions {
  readonly name: string;
  /** As in `IP:127.0.0.1` or `URI:spiffe://example/agent`. */
  readonly alternativeNames?: string;
  /** Without it, the certificate signs itself. */
  readonly issuer?: Issued;
  /** Negative for a certificate that has expired. */
  readonly days?: number;
  readonly isAuthority?: boolean;
}

/** Writes `<file>.pem` and `<file>.key` into the folder. */
export function issueCertificate(folder: string, file: string, options: CertificateOptions): Issued {
  const { name, alternativeNames, issuer, days = 30, isAuthority = false } = options;
  const [cert, key, request] = [`${file}.pem`, `${file}.key`, `${file}.csr`].map((it) => join(folder, it)) as [
    string,
    string,
    string,
  ];
  const extensions = join(folder, `${file}.ext`);
  const lines = [`basicConstraints=CA:${isAuthority}`];
  if (alternativeNames !== undefined) lines.push(`subjectAltName=${alternativeNames}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(extensions, `${lines.join("\n")}\n`);
  run(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-keyout",
    key,
    "-out",
    request,
    "-subj",
    `/O=Test/CN=${name}`,
  );
  const signer =
    issuer === undefined ? ["-signkey", key] : ["-CA", issuer.cert, "-CAkey", issuer.key, "-CAcreateserial"];
  run("x509", "-req", "-in", request, ...signer, "-days", String(days), "-extfile", extensions, "-out", cert);
  return { cert, key };
}

function run(...args: string[]): void {
  const { status, stderr } = spawnSync("openssl", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`openssl ${args[0]} failed: ${stderr}`);
}
