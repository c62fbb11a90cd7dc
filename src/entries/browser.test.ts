// The client as a web page gets it: one bundle without Node, in a real browser, against a real host.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type BuildResult, build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { startServer } from "../server/http-server.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { chromiumProgram, launchChromium } from "../testing/chromium.suite.ts";
import { describeWith } from "../testing/needs.suite.ts";
import { mintToken } from "../tokens/mint-token.ts";
import { verifyToken } from "../tokens/verify-token.ts";
import type * as client from "./client.ts";
import { startCuttableProxy } from "./cuttable-proxy.suite.ts";

declare global {
  var a2e: typeof client;
  /** Given to the page by the test. */
  var reportProgress: (step: number) => Promise<void>;
}

/**
 * Zod is most of it. Tables import it as a namespace (`import * as z`): by its name `z` every language of its messages
 * would come along, which more than doubles the bundle. The tables of nine capabilities are a quarter. The 4 kB for
 * narrowing tokens are only in bundles that use it.
 */
const maxGzipBytes = 70_000;

let bundle: BuildResult<{ write: false; metafile: true }>;
let script: string;

beforeAll(async () => {
  // Without externals: an import of Node's own modules fails the build.
  bundle = await build({
    entryPoints: [fileURLToPath(new URL("client.ts", import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "silent",
  });
  script = bundle.outputFiles[0]?.text ?? "";
});

test("the bundle has nothing of the host and of Node in it", () => {
  const inputs = Object.keys(bundle.metafile.inputs);
  expect(
    inputs.filter((path) =>
      /src\/(host|server|stores|cli)\/|-node\.ts$|subprocess|node_modules\/(undici|ws)\//.test(path),
    ),
  ).toEqual([]);
  expect(script).not.toMatch(/["']node:/);
});

test(`the bundle is at most ${maxGzipBytes} bytes, compressed`, () => {
  expect(gzipSync(script).length).toBeLessThanOrEqual(maxGzipBytes);
});

describeWith(chromiumProgram)("in Chromium", () => {
  let browser: Browser;
  let pages: Server;
  let origin: string;

  beforeAll(async () => {
    browser = await launchChromium();
    pages = createServer((request, response) => {
      const isScript = request.url === "/client.js";
      response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
      response.end(isScript ? script : '<script type="module">globalThis.a2e = await import("./client.js");</script>');
    });
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    await browser.close();
    pages.closeAllConnections();
    await new Promise((resolve) => pages.close(resolve));
  });

  test.each(["http", "ws"])("an agent over %s follows a call through a cut connection", async (scheme) => {
    let runs = 0;
    let proceed = () => {};
    const isCut = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const steps = defineTool({
      name: "steps",
      description: "Goes on only after the connection was cut.",
      input: z.object({}),
      async run(_args, context) {
        runs += 1;
        context.emit("progress", { step: 1 });
        await isCut;
        for (const step of [2, 3]) context.emit("progress", { step });
        return { done: true };
      },
    });
    const plugins = [toolsPlugin({ builtin: false, tools: [steps] })];
    await using host = await A2EHost.start({
      plugins,
      keeping: keepSessions,
      snapshots: createMemorySnapshotStore(),
      authToken: "secret",
    });
    const server = await startServer(host, { port: 0, corsOrigins: [origin] });
    await using proxy = await startCuttableProxy(server.port);
    const page = await browser.newPage();
    const progress: number[] = [];
    await page.exposeFunction("reportProgress", (step: number) => {
      progress.push(step);
      if (step !== 1) return;
      proxy.cut();
      proceed();
    });
    await page.goto(origin);
    await page.waitForFunction(() => globalThis.a2e !== undefined);

    const outcome = await page.evaluate(async (url) => {
      const agent = await globalThis.a2e.connect(url, { authToken: "secret", reconnect: { initialBackoffMs: 20 } });
      const { tools } = await agent.tools.list();
      const { data } = await agent.tools.call(
        { tool_name: "steps" },
        { onEvent: ({ data }) => void globalThis.reportProgress(Number(data.step)) },
      );
      const isStillThere = (await agent.ping()) >= 0;
      await agent.disconnect();
      return { names: tools.map(({ name }) => name), data: data.data, isStillThere };
    }, `${scheme}://127.0.0.1:${proxy.port}`);

    expect(outcome).toEqual({ names: ["steps"], data: { done: true }, isStillThere: true });
    expect(progress).toEqual([1, 2, 3]);
    expect(runs).toBe(1);
    await page.close();
    await server.close();
  });

  test("a page narrows a token as a host in Node verifies it", async () => {
    const secret = new Uint8Array(32).fill(7);
    const token = mintToken({ id: "k1", secret }, { id: "tok-1", principal: "key:ci-bot", issued_at: 0 });
    const page = await browser.newPage();
    // Without HTTPS, and not from this machine: here the page has no `crypto.subtle`.
    await page.goto(origin.replace("127.0.0.1", "page.test"));
    await page.waitForFunction(() => globalThis.a2e !== undefined);
    const narrowed = await page.evaluate((given) => globalThis.a2e.narrowToken(given, { tools: ["räd_*"] }), token);
    expect(verifyToken(narrowed, () => secret)).toMatchObject({ ok: true, token: { caveats: [{ tools: ["räd_*"] }] } });
    await page.close();
  });

  test("a page of an origin that the host does not list is refused", async () => {
    const plugins = [toolsPlugin({ builtin: false })];
    await using host = await A2EHost.start({ plugins, keeping: keepSessions, snapshots: createMemorySnapshotStore() });
    const server = await startServer(host, { port: 0, corsOrigins: [origin] });
    const page = await browser.newPage();
    await page.goto(origin.replace("127.0.0.1", "page.test"));
    await page.waitForFunction(() => globalThis.a2e !== undefined);

    const refusals = await page.evaluate(async (port) => {
      const attempts = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}`].map((url) => globalThis.a2e.connect(url));
      const settled = await Promise.allSettled(attempts);
      return settled.map(({ status }) => status);
    }, server.port);

    expect(refusals).toEqual(["rejected", "rejected"]);
    expect(host.sessions.size).toBe(0);
    await page.close();
    await server.close();
  });
});
