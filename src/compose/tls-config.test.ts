import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test as plainTest } from "vitest";
import { runInProcess } from "../cli/test-terminal.suite.ts";
import { loadHostConfig } from "../config/file.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { issueCertificate, openssl } from "../server/tls/certificates.suite.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { testWith } from "../testing/needs.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";
import { connect } from "./connect-node.ts";

const nextFolder = useTemporaryFolder();
const test = testWith(openssl);

/** Starts a host with these files of the folder, and writes a config beside them for commands. */
async function startIn(folder: string, file: string, configured = file): Promise<string> {
  const tls = { cert: `${file}.pem`, key: `${file}.key` };
  const config = toHostConfig({ server: { port: 0, tls } }, { baseDir: folder, env: {} });
  const server = await startConfiguredServer(config);
  onTestFinished(() => server.close(0));
  const files = `cert: ${configured}.pem, key: ${configured}.key`;
  writeFileSync(join(folder, "a2e.yaml"), `server: { port: ${server.port}, tls: { ${files} } }\n`);
  return server.url;
}

plainTest.each([
  [{ cert: "a.pem" }, "belong together"],
  [{ key: "a.key" }, "belong together"],
  [{ client_ca: "ca.pem" }, "set cert and key"],
  [{ cert: "a.pem", key: "a.key", client_certificates: "required" }, "needs client_ca"],
] as const)("the section tls: %j is refused", (tls, message) => {
  expect(() => toHostConfig({ server: { tls } } as A2EHostConfigInput, { env: {} })).toThrow(message);
});

test("a host does not start with a certificate that cannot be used, and names the setting; doctor reports the same", async () => {
  const folder = nextFolder();
  issueCertificate(folder, "host", { name: "host" });
  issueCertificate(folder, "other", { name: "other" });
  const path = join(folder, "a2e.yaml");
  writeFileSync(path, "server: { port: 0, tls: { cert: host.pem, key: other.key } }\n");

  const config = await loadHostConfig(path, { env: {} });
  await expect(startConfiguredServer(config)).rejects.toThrow(/server\.tls\.key: .*other\.key is not the key of/);
  const { stdout } = await runInProcess(["doctor"], { cwd: folder });
  expect(stdout).toContain("is not the key of the certificate");
});

test("commands reach the host of their folder over HTTPS, and agents by its authority", async () => {
  const folder = nextFolder();
  const authority = issueCertificate(folder, "ca", { name: "ca", isAuthority: true });
  // The commands use 127.0.0.1, which is not a name in the certificate.
  issueCertificate(folder, "host", { name: "host", alternativeNames: "DNS:agents.example", issuer: authority });
  const url = await startIn(folder, "host");

  const client = await connect(url, {
    agentId: "seven",
    tls: { ca: readFileSync(authority.cert), servername: "agents.example" },
  });
  const listed = await runInProcess(["sessions"], { cwd: folder });
  const called = await runInProcess(["call", "js_eval", "--code", "6 * 7"], { cwd: folder });
  await client.disconnect();

  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("seven") });
  expect(called).toMatchObject({ code: 0, stderr: expect.stringContaining(`using the host at ${url}`) });
  expect(called.stdout).toContain("42");
});

test("a command does not send its token to a process with another certificate", async () => {
  const folder = nextFolder();
  issueCertificate(folder, "host", { name: "host", alternativeNames: "IP:127.0.0.1" });
  issueCertificate(folder, "thief", { name: "host", alternativeNames: "IP:127.0.0.1" });
  await startIn(folder, "thief", "host");

  const { code, stderr } = await runInProcess(["sessions"], { cwd: folder });
  expect(code).toBe(3);
  expect(stderr).toMatch(/could not reach a host/);
});
