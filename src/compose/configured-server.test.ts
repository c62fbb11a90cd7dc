import { get } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { tools } from "../caps/tools/protocol.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import type { A2EHostConfigInput } from "../config/schema.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createNodeHttpTransport } from "../transports/http/http-node.ts";
import { startConfiguredServer } from "./configured-server.ts";

const nextFolder = useTemporaryFolder();

function config(input: A2EHostConfigInput) {
  return toHostConfig(input, { baseDir: nextFolder(), env: {} });
}

test("a host answers on the port of its config until it is closed, and closing twice is closing once", async () => {
  const server = await startConfiguredServer(config({ server: { port: 0 } }));
  expect((await fetch(`${server.url}/health`)).status).toBe(200);
  await Promise.all([server.close(0), server.close(0)]);
  await expect(fetch(`${server.url}/health`)).rejects.toThrow();
});

test("a second close with less time ends the wait of the first", async () => {
  const server = await startConfiguredServer(config({ server: { port: 0 } }));
  const client = await A2EClient.connect({ transport: createNodeHttpTransport({ url: server.url }) });
  const isRefused = expect(
    client.use(tools).call({ tool_name: "js_eval", arguments: { code: "for (;;);" }, timeout: 600 }),
  ).rejects.toMatchObject({ code: "cancelled" });
  await client.ping();
  await Promise.all([server.close(3_600_000), server.close(0)]);
  await isRefused;
  await client.disconnect();
});

test("nothing is started on an address that other machines can reach if no token is set", async () => {
  const refused = config({ server: { host: "0.0.0.0", port: 0 } });
  await expect(startConfiguredServer(refused)).rejects.toThrow("A2E_AUTH_TOKEN");
});

test("a port that is taken leaves no host behind", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  try {
    await expect(startConfiguredServer(config({ server: { port } }))).rejects.toThrow(`port ${port}`);
  } finally {
    taken.close();
  }
});

test("a reverse proxy may pass on the listed names if a token protects the host", async () => {
  const allowed_hosts = ["Agents.example.com"];
  await expect(startConfiguredServer(config({ server: { port: 0, allowed_hosts } }))).rejects.toThrow("A2E_AUTH_TOKEN");
  await using server = await startConfiguredServer(config({ auth_token: "t", server: { port: 0, allowed_hosts } }));
  const statusFor = (host: string) =>
    new Promise((resolve) =>
      get(`${server.url}/health`, { headers: { host } }, (reply) => resolve(reply.resume().statusCode)),
    );
  expect(await statusFor("agents.example.com")).toBe(200);
  expect(await statusFor("agents.example.com:443")).toBe(200);
  expect(await statusFor("evil.example.com")).toBe(403);
});
