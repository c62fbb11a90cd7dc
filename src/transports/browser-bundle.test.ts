import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

test("client, HTTP and WebSocket transports are bundled for a browser without anything of Node", async () => {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const contents = `
    export { A2EClient } from "./client/client.ts";
    export { createHttpTransport } from "./transports/http/http.ts";
    export { createWebSocketTransport } from "./transports/websocket/websocket.ts";
  `;
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder, loader: "ts" },
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    logLevel: "silent",
  });
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.filter((input) => /undici|node_modules\/ws\/|-node\.ts$/.test(input))).toEqual([]);
  expect(outputFiles[0]?.text).not.toMatch(/from\s*"node:|import\("node:|require\(/);
});
