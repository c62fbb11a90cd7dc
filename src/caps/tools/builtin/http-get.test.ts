import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { isPublicAddress } from "../../../machinery/confinement/public-address.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { toolLimits } from "../limits.ts";
import { createTestCall, runTool } from "../test-call-context.suite.ts";
import type { BuiltinEnvironment, HttpSettings } from "./environment.ts";
import { httpGetTool } from "./http-get.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function startServer(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await new Promise((resolve) => server.once("listening", resolve));
  return (server.address() as AddressInfo).port;
}

const noResolver = () => Promise.reject(new Error("nothing should be resolved"));

/** Treats 127.0.0.1 as public, so that a local server can stand for the internet; all other addresses are as usual. */
function get(args: JsonObject, settings: Partial<HttpSettings> = {}, call = createTestCall()) {
  const http: HttpSettings = {
    maxBytes: 1000,
    maxRedirects: toolLimits.httpMaxRedirects,
    timeoutMs: 120_000,
    resolve: noResolver,
    isAllowed: (address) => address === "127.0.0.1" || isPublicAddress(address),
    ...settings,
  };
  return runTool(httpGetTool({ http } as BuiltinEnvironment), args, call);
}

test("a page is returned with status, chosen headers and text", async () => {
  const port = await startServer((_request, response) => {
    response.writeHead(404, { "content-type": "text/plain; charset=iso-8859-1", "set-cookie": "secret=1" });
    response.end(Buffer.from([0x67, 0x72, 0xfc, 0x6e]));
  });
  const { data, truncated } = await get({ url: `http://127.0.0.1:${port}/page` });
  expect(data).toMatchObject({ status: 404, encoding: "text", body: "grün", url: `http://127.0.0.1:${port}/page` });
  expect((data as { headers: object }).headers).not.toHaveProperty("set-cookie");
  expect(truncated).toBe(false);
});

test("a body that is not text is returned as base64", async () => {
  const port = await startServer((_request, response) =>
    response.setHeader("content-type", "image/png").end(Buffer.from([1, 2, 0])),
  );
  expect(await get({ url: `http://127.0.0.1:${port}` })).toMatchObject({ data: { encoding: "base64", body: "AQIA" } });
});

test("an endless body is cut at the limit", async () => {
  const port = await startServer((_request, response) => {
    const more = () => response.writable && response.write("x".repeat(16_384), more);
    response.setHeader("content-type", "text/plain");
    more();
  });
  const { data, truncated } = await get({ url: `http://127.0.0.1:${port}` });
  expect((data as { body: string }).body).toBe("x".repeat(1000));
  expect(truncated).toBe(true);
});

test("a server that never answers times out, and so does a server that sends very slowly", async () => {
  const silent = await startServer(() => {});
  await expect(get({ url: `http://127.0.0.1:${silent}` }, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "timeout",
  });
  const trickling = await startServer((_request, response) => void response.write("x"));
  await expect(get({ url: `http://127.0.0.1:${trickling}` }, { timeoutMs: 50 })).rejects.toMatchObject({
    code: "timeout",
  });
});

test("a cancelled call stops the request", async () => {
  const call = createTestCall();
  const port = await startServer(() => call.abort(new Error("enough")));
  await expect(get({ url: `http://127.0.0.1:${port}` }, {}, call)).rejects.toThrow("enough");
});

test.each([
  "http://127.0.0.2/",
  "http://2130706434/",
  "http://0x7f000002/",
  "http://0x7f.2/",
  "http://0177.0.0.2/",
  "http://017700000002/",
  "http://127.2/",
  "http://127.0.0.2./",
  "http://①②⑦.0.0.2/",
  "http://0/",
  "http://10.0.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://[::1]/",
  "http://[::]/",
  "http://[::ffff:127.0.0.2]/",
  "http://[::ffff:7f00:2]/",
  "http://[0:0:0:0:0:0:0:1]/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
])("%s is rejected", async (url) => {
  await expect(get({ url })).rejects.toMatchObject({
    code: "forbidden",
    message: expect.stringContaining("not a public address"),
  });
});

test.each([
  "file:///etc/passwd",
  "ftp://example.com/",
  "gopher://example.com/",
  "data:text/plain,x",
  "javascript:1",
  "http://user:password@example.com/",
])("%s is rejected for any host", async (url) => {
  await expect(get({ url })).rejects.toMatchObject({ code: "forbidden" });
});

test("a text that is not a URL is rejected as such", async () => {
  await expect(get({ url: "example.com/page" })).rejects.toThrow("is not a URL");
  await expect(get({ url: "http://[::1" })).rejects.toThrow("is not a URL");
});

test.each([[["10.0.0.1"]], [["8.8.8.8", "127.0.0.2"]], [["::ffff:10.0.0.1"]], [["fe80::1%lo"]]])(
  "a name that resolves to %j is rejected",
  async (addresses) => {
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    await expect(get({ url: "http://rebind.test/" }, { resolve })).rejects.toMatchObject({ code: "forbidden" });
  },
);

test("a name with changing addresses is resolved once per connection and connected to the checked address", async () => {
  let questions = 0;
  const port = await startServer((_request, response) => response.end("public"));
  const resolve = async () => [{ address: ++questions === 1 ? "127.0.0.1" : "127.0.0.2", family: 4 }];
  expect(await get({ url: `http://rebind.test:${port}/` }, { resolve })).toMatchObject({ data: { body: "public" } });
  expect(questions).toBe(1);
  await expect(get({ url: `http://rebind.test:${port}/` }, { resolve })).rejects.toMatchObject({ code: "forbidden" });
});

test("a name without an address is an error", async () => {
  await expect(get({ url: "http://nowhere.test/" }, { resolve: async () => [] })).rejects.toThrow("has no address");
});

test("redirects are followed, also relative ones, and the final address is returned", async () => {
  const port = await startServer((request, response) => {
    if (request.url === "/end") response.end("arrived");
    else response.writeHead(302, { location: request.url === "/" ? "/middle" : `http://127.0.0.1:${port}/end` }).end();
  });
  const { data } = await get({ url: `http://127.0.0.1:${port}/` });
  expect(data).toMatchObject({ status: 200, body: "arrived", url: `http://127.0.0.1:${port}/end` });
});

test.each(["http://127.0.0.2/", "http://[::1]/", "//169.254.169.254/", "file:///etc/passwd", "http://private.test/"])(
  "a redirect to %s is rejected",
  async (location) => {
    const port = await startServer((_request, response) => response.writeHead(302, { location }).end());
    const resolve = async () => [{ address: "192.168.1.1", family: 4 }];
    await expect(get({ url: `http://127.0.0.1:${port}/` }, { resolve })).rejects.toMatchObject({ code: "forbidden" });
  },
);

test("headers for one server are not sent to another", async () => {
  const heard: unknown[] = [];
  const other = await startServer((request, response) => {
    heard.push(request.headers["x-api-key"]);
    response.end();
  });
  const port = await startServer((request, response) => {
    heard.push(request.headers["x-api-key"]);
    response.writeHead(302, { location: `http://127.0.0.1:${other}/` }).end();
  });
  await get({ url: `http://127.0.0.1:${port}/`, headers: { "x-api-key": "secret" } });
  expect(heard).toEqual(["secret", undefined]);
});

test("redirects in a circle are limited", async () => {
  const port = await startServer((_request, response) => response.writeHead(301, { location: "/" }).end());
  await expect(get({ url: `http://127.0.0.1:${port}/` })).rejects.toThrow("more than 5 redirects");
});

test("headers that allow smuggling or impersonation are rejected", async () => {
  for (const name of ["host", "Authorization", "cookie", "transfer-encoding", "connection"]) {
    await expect(get({ url: "http://8.8.8.8/", headers: { [name]: "x" } })).rejects.toMatchObject({
      code: "forbidden",
    });
  }
});
