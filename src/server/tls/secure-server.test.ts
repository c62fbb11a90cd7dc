import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test as plainTest } from "vitest";
import { connect } from "../../compose/connect-node.ts";
import type { SessionBeginning } from "../../host/session/session-origin.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { createCapturedLog } from "../../testing/captured-log.ts";
import { testWith } from "../../testing/needs.suite.ts";
import type { ClientTls } from "../../transports/client-tls.ts";
import { startEchoHost } from "../../transports/echo-host.suite.ts";
import { type RunningServer, startServer } from "../http-server.ts";
import { type Issued, issueCertificate, openssl } from "./certificates.suite.ts";
import { splitAlternativeNames } from "./client-certificate.ts";
import type { TlsOptions } from "./secure-server.ts";

const nextFolder = useTemporaryFolder();
const test = testWith(openssl);

const thisMachine = "IP:127.0.0.1,DNS:localhost";

async function start(tls: TlsOptions, options: Parameters<typeof startEchoHost>[0] = {}) {
  const log = createCapturedLog();
  const host = await startEchoHost({ log, ...options });
  const server = await startServer(host, { port: 0, tls });
  onTestFinished(async () => {
    await host.close(0);
    await server.close();
  });
  return { host, server, log };
}

const pem = (path: string) => readFileSync(path, "utf8");

/** A client that trusts this authority, and has a certificate of its own if one is given. */
function trusting(authority: Issued, own?: Issued): ClientTls {
  return { ca: pem(authority.cert), ...(own === undefined ? {} : { cert: pem(own.cert), key: pem(own.key) }) };
}

/** The common name of the certificate that the server shows now. */
function shownName(server: RunningServer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port: server.port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

test.each(["https", "wss"])("an agent works over %s, and only if it trusts the certificate", async (scheme) => {
  const folder = nextFolder();
  const authority = issueCertificate(folder, "ca", { name: "ca", isAuthority: true });
  const own = issueCertificate(folder, "host", { name: "host", alternativeNames: thisMachine, issuer: authority });
  const { server } = await start(own);
  expect(server.url).toBe(`https://127.0.0.1:${server.port}`);
  const url = `${scheme}://127.0.0.1:${server.port}`;

  const client = await connect(url, { capabilities: ["echo"], tls: trusting(authority) });
  expect(await client.ping()).toBeGreaterThanOrEqual(0);
  await client.disconnect();
  const reconnect = { giveUpAfterMs: 1 };
  await expect(connect(url, { reconnect })).rejects.toThrow(/certificate/);
});

test("a page of the host itself has an https origin", async () => {
  const own = issueCertificate(nextFolder(), "host", { name: "host", alternativeNames: thisMachine });
  const { server } = await start(own);
  const { Agent, fetch } = await import("undici");
  const dispatcher = new Agent({ connect: { ca: pem(own.cert) } });
  const from = async (origin: string) =>
    (await fetch(`${server.url}/session`, { method: "POST", headers: { origin }, dispatcher })).status;
  expect(await from(server.url)).toBe(200);
  expect(await from(server.url.replace("https", "http"))).toBe(403);
  await dispatcher.close();
});

test("the certificate of a client reaches the session and the authentication", async () => {
  const folder = nextFolder();
  const authority = issueCertificate(folder, "ca", { name: "ca", isAuthority: true });
  const own = issueCertificate(folder, "host", { name: "host", alternativeNames: thisMachine, issuer: authority });
  const agent = issueCertificate(folder, "agent", {
    name: "agent seven",
    alternativeNames: "URI:spiffe://example/agent,DNS:agent.example",
    issuer: authority,
  });
  const beginnings: (SessionBeginning & { certificate?: unknown })[] = [];
  const shown: unknown[] = [];
  const { server } = await start(
    { ...own, clientCa: authority.cert },
    {
      tap: ({ beginning }) => void beginnings.push(beginning),
      authenticate: (credentials) => {
        shown.push((credentials as { certificate?: unknown }).certificate);
        return { id: "any", isAuthenticated: true };
      },
    },
  );
  const certificate = {
    fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    common_name: "agent seven",
    alternative_names: ["URI:spiffe://example/agent", "DNS:agent.example"],
    expires_at: expect.any(Number),
  };
  const { Agent, fetch } = await import("undici");
  for (const [tls, expected] of [
    [trusting(authority, agent), certificate],
    [trusting(authority), undefined],
  ] as const) {
    for (const scheme of ["https", "wss"]) {
      const client = await connect(`${scheme}://127.0.0.1:${server.port}`, { capabilities: ["echo"], tls });
      await client.disconnect();
      expect(beginnings.pop()?.certificate, scheme).toEqual(expected);
    }
    const dispatcher = new Agent({ connect: tls as object });
    // Twice: the second connection resumes the TLS session of the first.
    for (const _ of [1, 2]) {
      shown.length = 0;
      await (await fetch(`${server.url}/sessions`, { dispatcher, headers: { connection: "close" } })).text();
      expect(shown).toEqual([expected]);
    }
    await dispatcher.close();
  }
});

test("a client certificate of another authority is refused with the reason, and a required one must be there", async () => {
  const folder = nextFolder();
  const authority = issueCertificate(folder, "ca", { name: "ca", isAuthority: true });
  const stranger = issueCertificate(folder, "stranger", { name: "stranger", isAuthority: true });
  const own = issueCertificate(folder, "host", { name: "host", alternativeNames: thisMachine, issuer: authority });
  const good = issueCertificate(folder, "good", { name: "good", issuer: authority });
  const bad = issueCertificate(folder, "bad", { name: "bad", issuer: stranger });
  const ask = async (server: RunningServer, tls: ClientTls) => {
    const { Agent, fetch } = await import("undici");
    const dispatcher = new Agent({ connect: tls as object });
    try {
      const response = await fetch(`${server.url}/health`, { dispatcher });
      return `${response.status} ${await response.text()}`;
    } catch {
      return "cut";
    } finally {
      await dispatcher.close();
    }
  };
  const clientCa = authority.cert;
  const optional = (await start({ ...own, clientCa })).server;
  expect(await ask(optional, trusting(authority, good))).toContain("200");
  expect(await ask(optional, trusting(authority))).toContain("200");
  expect(await ask(optional, trusting(authority, bad))).toMatch(/^403 .*server\.tls\.client_ca/);

  const required = (await start({ ...own, clientCa, clientCertificates: "required" })).server;
  expect(await ask(required, trusting(authority, good))).toContain("200");
  expect(await ask(required, trusting(authority))).toBe("cut");
  expect(await ask(required, trusting(authority, bad))).toBe("cut");
  expect(await ask(required, trusting(authority, good))).toContain("200");
});

test("a replaced certificate is used without a restart, and a broken replacement is logged and not used", async () => {
  const folder = nextFolder();
  const first = issueCertificate(folder, "first", { name: "first" });
  const second = issueCertificate(folder, "second", { name: "second", days: 2 });
  const used = { cert: join(folder, "used.pem"), key: join(folder, "used.key") };
  const use = ({ cert, key }: Issued) => {
    copyFileSync(cert, used.cert);
    copyFileSync(key, used.key);
  };
  use(first);
  const { server, log } = await start({ ...used, checkMs: 10 });
  expect(await shownName(server)).toBe("first");

  use(second);
  await expect.poll(() => shownName(server)).toBe("second");
  // It expires in two days.
  expect(log.entries.some(({ message }) => message.includes("expires soon"))).toBe(true);

  writeFileSync(used.cert, "not a certificate");
  await expect
    .poll(() => log.entries.some(({ level, message }) => level === "error" && message.includes("new certificate")))
    .toBe(true);
  expect(await shownName(server)).toBe("second");
});

test("a client that speaks plain HTTP to a port with TLS is cut off, and the server continues", async () => {
  const own = issueCertificate(nextFolder(), "host", { name: "host" });
  const { server } = await start(own);
  await expect(fetch(`http://127.0.0.1:${server.port}/health`)).rejects.toThrow();
  expect(await shownName(server)).toBe("host");
});

plainTest.each([
  ["", []],
  ["DNS:a.example, IP Address:127.0.0.1", ["DNS:a.example", "IP Address:127.0.0.1"]],
  ['URI:"http://x/, DNS:evil.example", DNS:b', ["URI:http://x/, DNS:evil.example", "DNS:b"]],
  ['DNS:"quote\\" , DNS:evil.example"', ['DNS:quote" , DNS:evil.example']],
])("the alternative names %s are read as %j", (joined, names) => {
  expect(splitAlternativeNames(joined)).toEqual(names);
});
