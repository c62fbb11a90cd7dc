// What web pages get from a host without a token, with the default config: by the headers that browsers send, and from
// real pages in Chromium.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket as NodeWebSocket } from "ws";
import { toHostConfig } from "../config/parsing.ts";
import { initialize, json, send } from "../federation/mcp/http/raw-requests.suite.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createCapturedLog } from "../testing/captured-log.ts";
import { chromiumProgram, launchChromium } from "../testing/chromium.suite.ts";
import { testWith } from "../testing/needs.suite.ts";
import { startConfiguredServer } from "./configured-server.ts";

const nextFolder = useTemporaryFolder();

async function startDefaultHost(origins: string[] = []) {
  const log = createCapturedLog();
  const config = toHostConfig({ server: { port: 0, cors: { origins } } }, { baseDir: nextFolder(), env: {} });
  const server = await startConfiguredServer(config, { log });
  onTestFinished(() => server.close(0));
  return { server, log };
}

/** 101, or the status of the refusal. */
function upgrade(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = new NodeWebSocket(`${url.replace("http", "ws")}/ws`, ["a2e.v1"], { headers });
    socket.on("open", () => {
      socket.terminate();
      resolve(101);
    });
    socket.on("unexpected-response", (request, response) => {
      request.destroy();
      resolve(response.statusCode);
    });
    socket.on("error", () => {});
  });
}

// POST /session, GET /sessions, GET /health, POST /mcp, the upgrade of /ws.
const served = [200, 200, 200, 200, 101];
const refused = [403, 403, 403, 403, 403];

test.each([
  ["a program", served, {}],
  ["a page of the host itself", served, { origin: "http://127.0.0.1:{port}" }],
  ["a page of another site", refused, { origin: "https://evil.example" }],
  ["a file or a sandboxed frame", refused, { origin: "null" }],
  ["a page of another port of localhost", refused, { origin: "http://localhost:3000" }],
  ["a page of another port of 127.0.0.1", refused, { origin: "http://127.0.0.1:3000" }],
  ["a page of another loopback address", refused, { origin: "http://127.0.0.2:9999" }],
  ["a page of this port by another name", refused, { origin: "http://localhost:{port}" }],
  ["a picture on a page of another site", refused, { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }],
  ["a picture on a page of another port", refused, { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" }],
  ["a page whose name was rebound to this machine", refused, { host: "evil.example:{port}" }],
  ["a page whose name always means this machine", refused, { host: "127.0.0.1.nip.io:{port}" }],
  ["a page that uses the address 0.0.0.0", refused, { host: "0.0.0.0:{port}" }],
  ["a page that uses a name below localhost", refused, { host: "foo.localhost:{port}" }],
])("the default host answers requests of %s with %j", async (_who, statuses, given) => {
  const { server } = await startDefaultHost();
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value.replace("{port}", String(server.port))]),
  );

  expect([
    (await send(`${server.url}/session`, "POST", headers)).status,
    (await send(`${server.url}/sessions`, "GET", headers)).status,
    (await send(`${server.url}/health`, "GET", headers)).status,
    (await send(`${server.url}/mcp`, "POST", { ...json, ...headers }, initialize())).status,
    await upgrade(server.url, headers),
  ]).toEqual(statuses);
  if (statuses === refused) expect(server.host.sessions.size).toBe(0);
});

/** Serves an empty page on any free port of this machine. */
async function servePage(): Promise<number> {
  const pages = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>neighbour</title>");
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    pages.closeAllConnections();
    await new Promise((resolve) => pages.close(resolve));
  });
  return (pages.address() as AddressInfo).port;
}

/** Runs in a page: what it gets from the host at this address. */
async function attack(url: string): Promise<Record<string, string>> {
  const tried = async (attempt: Promise<Response>) => {
    try {
      const { type, status } = await attempt;
      return type === "opaque" ? "sent" : String(status);
    } catch {
      return "refused";
    }
  };
  const socket = new Promise<string>((resolve) => {
    const opened = new WebSocket(`${url.replace("http", "ws")}/ws`, ["a2e.v1"]);
    opened.onmessage = () => {
      resolve("open");
      opened.close();
    };
    opened.onerror = () => resolve("refused");
  });
  return {
    webSocket: await socket,
    fetch: await tried(fetch(`${url}/session`, { method: "POST" })),
    blind: await tried(fetch(`${url}/session`, { method: "POST", mode: "no-cors" })),
    list: await tried(fetch(`${url}/sessions`)),
  };
}

testWith(chromiumProgram)(
  "a page of another port of this machine can neither open a WebSocket nor create a session, and the log names it",
  async () => {
    const port = await servePage();
    const { server, log } = await startDefaultHost([`http://listed.test:${port}`]);
    const browser = await launchChromium();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    const outcomes: Record<string, Record<string, string>> = {};
    for (const name of ["localhost", "127.0.0.1", "page.test"]) {
      await page.goto(`http://${name}:${port}`);
      outcomes[name] = await page.evaluate(attack, `http://127.0.0.1:${server.port}`);
    }

    // The browser hides the answer of a request without CORS, so it looks sent: what counts is that no session exists.
    const nothing = { webSocket: "refused", fetch: "refused", blind: "sent", list: "refused" };
    expect(outcomes).toEqual({ localhost: nothing, "127.0.0.1": nothing, "page.test": nothing });
    expect(server.host.sessions.size).toBe(0);
    expect(log.entries.filter(({ level }) => level === "warn").map(({ fields }) => fields.origin)).toEqual([
      `http://localhost:${port}`,
      `http://127.0.0.1:${port}`,
      `http://page.test:${port}`,
    ]);

    await page.goto(`http://listed.test:${port}`);
    expect(await page.evaluate(attack, `http://127.0.0.1:${server.port}`)).toEqual({
      webSocket: "open",
      fetch: "200",
      blind: "sent",
      list: "200",
    });
  },
);
