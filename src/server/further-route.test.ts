import { request } from "node:http";
import { afterEach, expect, test } from "vitest";
import { startEchoHost } from "../transports/echo-host.suite.ts";
import type { FurtherRoute } from "./further-route.ts";
import { type ServerOptions, startServer } from "./http-server.ts";

const running: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const item of running.splice(0)) await item.close();
});

async function start(route: Partial<FurtherRoute>, authToken?: string, options: ServerOptions = {}) {
  const host = await startEchoHost(authToken === undefined ? {} : { authToken });
  const whole: FurtherRoute = {
    paths: ["/further", "/further/more"],
    methods: ["GET", "POST"],
    async handle(request, response, { token }) {
      response.end(`${request.method} ${request.url} ${token}`);
    },
    close: async () => {},
    ...route,
  };
  const server = await startServer(host, { port: 0, routes: [whole], ...options });
  running.push({ close: () => host.close(0) }, server);
  return server;
}

test("its paths are served for its methods, with the token that was shown, and are listed among the routes", async () => {
  const { url } = await start({}, "s3cret");
  const headers = { authorization: "Bearer s3cret" };

  expect(await (await fetch(`${url}/further/more?a=1`, { headers })).text()).toBe("GET /further/more?a=1 s3cret");
  expect((await fetch(`${url}/further`, { method: "DELETE", headers })).status).toBe(405);
  expect(await (await fetch(`${url}/none`)).text()).toContain("GET|POST /further");
});

test("it is not reached without the host's token, nor under a foreign name", async () => {
  let reached = 0;
  const handle: FurtherRoute["handle"] = async (_request, response) => {
    reached++;
    response.end();
  };
  const { url } = await start({ handle }, "s3cret");

  expect((await fetch(`${url}/further`)).status).toBe(401);
  expect((await fetch(`${url}/further`, { headers: { authorization: "Bearer no" } })).status).toBe(401);
  const foreign = { authorization: "Bearer s3cret", origin: "https://evil.example" };
  expect((await fetch(`${url}/further`, { headers: foreign })).status).toBe(403);
  expect(reached).toBe(0);
});

test("it cannot replace a path of the server, and an error it throws is not shown", async () => {
  const handle: FurtherRoute["handle"] = async () => {
    throw new Error("a secret of the inside");
  };
  const { url } = await start({ paths: ["/health", "/broken"], handle });

  expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
  const broken = await fetch(`${url}/broken`);
  expect(broken.status).toBe(500);
  expect(await broken.text()).not.toContain("secret");
});

test("it is closed once, with the server", async () => {
  let closed = 0;
  const close = async () => {
    closed++;
  };
  const server = await start({ close });

  await Promise.all([server.close(), server.close()]);

  expect(closed).toBe(1);
});

test("on an address that other machines reach, only pages of the host itself and of listed origins are accepted", async () => {
  const options = { host: "0.0.0.0", corsOrigins: ["https://friend.example"] };
  const { port } = await start({}, "s3cret", options);
  const from = async (origin?: string) => {
    const headers = { authorization: "Bearer s3cret", ...(origin === undefined ? {} : { origin }) };
    return (await fetch(`http://127.0.0.1:${port}/further`, { headers })).status;
  };

  expect(await from()).toBe(200);
  expect(await from(`http://127.0.0.1:${port}`)).toBe(200);
  expect(await from("https://friend.example")).toBe(200);
  expect(await from("https://evil.example")).toBe(403);
  expect(await from("http://localhost:3000")).toBe(403);
  expect(await from("null")).toBe(403);
});

test("a link of another site opens a page, and nothing else", async () => {
  const { url } = await start({ isPage: true });
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  // `fetch` has headers of its own.
  const open = (path: string, headers: Record<string, string> = link, method = "GET") =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(`${url}${path}`, { method, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });

  expect(await open("/further?tab=1")).toBe(200);
  expect(await open("/health")).toBe(403);
  expect(await open("/further", { ...link, "sec-fetch-dest": "iframe" })).toBe(403);
  expect(await open("/further", link, "POST")).toBe(403);
});
