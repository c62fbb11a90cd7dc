import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { testWith } from "../../testing/needs.suite.ts";
import { issueCertificate, openssl } from "./certificates.suite.ts";
import { readTlsFiles, TlsFileError, type TlsFiles } from "./tls-files.ts";

const nextFolder = useTemporaryFolder();
const test = testWith(openssl);
const day = 24 * 3600 * 1000;

function problemOf(files: TlsFiles, at = Date.now()): { field: string; message: string } {
  try {
    readTlsFiles(files, at);
  } catch (error) {
    if (error instanceof TlsFileError) return { field: error.field, message: error.message };
    throw error;
  }
  throw new Error("the files were accepted");
}

test("a certificate, its key and a client CA are read, with the day on which the certificate expires", () => {
  const folder = nextFolder();
  const files = issueCertificate(folder, "host", { name: "host", days: 10 });
  const { cert: clientCa } = issueCertificate(folder, "ca", { name: "ca", isAuthority: true });
  const contents = readTlsFiles({ ...files, clientCa }, Date.now());
  expect(contents).toMatchObject({ cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") });
  expect(contents.ca).toHaveLength(1);
  expect(Math.round((contents.expiresAt - Date.now()) / day)).toBe(10);
});

test("each file that cannot be used is named with its problem", () => {
  const folder = nextFolder();
  const good = issueCertificate(folder, "host", { name: "host" });
  const other = issueCertificate(folder, "other", { name: "other" });
  const text = join(folder, "text.pem");
  writeFileSync(text, "hello");
  const broken = join(folder, "broken.pem");
  writeFileSync(broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  const locked = join(folder, "locked.key");
  spawnSync("openssl", ["ec", "-in", good.key, "-aes256", "-passout", "pass:x", "-out", locked]);
  const missing = join(folder, "missing.pem");

  expect([
    problemOf({ ...good, cert: missing }),
    problemOf({ ...good, cert: folder }),
    problemOf({ ...good, cert: text }),
    problemOf({ ...good, cert: broken }),
    problemOf({ ...good, key: missing }),
    problemOf({ ...good, key: text }),
    problemOf({ ...good, key: locked }),
    problemOf({ ...good, key: other.key }),
    problemOf({ ...good, clientCa: text }),
  ]).toEqual([
    { field: "cert", message: `${missing} does not exist` },
    { field: "cert", message: `${folder} is a folder: name the file in it` },
    { field: "cert", message: expect.stringContaining("has no certificate in PEM format") },
    { field: "cert", message: `${broken} has a certificate that cannot be parsed` },
    { field: "key", message: `${missing} does not exist` },
    { field: "key", message: `${text} has no private key in PEM format` },
    { field: "key", message: expect.stringContaining(`${locked} is encrypted`) },
    { field: "key", message: `${other.key} is not the key of the certificate in ${good.cert}` },
    { field: "clientCa", message: expect.stringContaining("has no certificate in PEM format") },
  ]);
});

test("a certificate is refused after its last day and before its first", () => {
  const files = issueCertificate(nextFolder(), "host", { name: "host", days: 10 });
  expect(problemOf(files, Date.now() + 11 * day)).toMatchObject({
    field: "cert",
    message: expect.stringContaining("expired on"),
  });
  expect(problemOf(files, Date.now() - day).message).toContain("is not valid before");
});
