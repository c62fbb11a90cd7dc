import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tools } from "../../caps/tools/protocol.ts";
import { A2EClient } from "../../client/client.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { fullDevice, testWith } from "../../testing/needs.suite.ts";
import { createNodeHttpTransport } from "../../transports/http/http-node.ts";
import { useCli } from "../started-cli.suite.ts";

const nextPath = useTemporaryFolder();
const startCli = useCli();

function newFolder(): string {
  const path = nextPath();
  mkdirSync(path);
  return path;
}

const slowTool = `export const slow = { name: "slow", description: "Takes its time.", inputSchema: {}, kind: "function", tags: [],
  version: "1", isIdempotent: true, isStreaming: true, isDeferred: false, source: "", check: (value) => ({ value }),
  run: (_, call) => { call.emit("status", { status: "started" }); return new Promise((resolve) => setTimeout(resolve, 700, { data: "done" })); } };`;

test("serve prints its address and how to call it, and on SIGTERM lets a call finish and exits with 0", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "slow.mjs"), slowTool);
  writeFileSync(join(folder, "a2e.yaml"), "plugins: [{ type: tools, metadata: { modules: [./slow.mjs] } }]\n");
  const host = startCli(["serve", "--port", "0"], folder);
  const url = (await host.printed(/listens on +(http:\S+)/))[1] ?? "";
  await host.printed(/Ctrl-C stops the host/);
  expect(host.stdout).toContain("tools (8)");
  expect(host.stdout).toContain("./.a2e/workspace");
  expect(host.stdout).toContain(`call --url ${url} js_eval --code "6 * 7"`);

  const client = await A2EClient.connect({ transport: createNodeHttpTransport({ url }) });
  const answer = client.use(tools).call({ tool_name: "slow" }, { onEvent: () => host.child.kill("SIGTERM") });
  expect((await answer).data.data).toBe("done");
  await client.disconnect();
  expect(await host.exited).toBe(0);
  expect(host.stderr).toContain("Stopped.");
});

test("a second request to stop ends calls in flight at once, with an answer to their agents", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "slow.mjs"), slowTool.replace("700", "60_000"));
  writeFileSync(join(folder, "a2e.yaml"), "plugins: [{ type: tools, metadata: { modules: [./slow.mjs] } }]\n");
  const host = startCli(["serve", "--port", "0"], folder);
  const url = (await host.printed(/listens on +(http:\S+)/))[1] ?? "";
  const client = await A2EClient.connect({
    transport: createNodeHttpTransport({ url }),
  });
  const answer = client.use(tools).call({ tool_name: "slow" }, { onEvent: () => host.child.kill("SIGINT") });
  const isRefused = expect(answer).rejects.toMatchObject({ code: "cancelled" });
  await host.printed(/Stopping/);
  // Longer than the time in which a single key press may arrive twice. Only once: a third request would end the process
  // before the agent is answered.
  await new Promise((resolve) => setTimeout(resolve, 500));
  host.child.kill("SIGINT");
  await isRefused;
  expect(await host.exited).toBe(130);
  await client.disconnect().catch(() => {});
});

test("a port that is taken ends with 1 and the way out", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  const host = startCli(["serve", "--port", String(port)], newFolder());
  expect(await host.exited).toBe(1);
  await new Promise((resolve) => taken.close(resolve));
  expect(host.stderr).toContain(`port ${port} on 127.0.0.1 is in use`);
  expect(host.stderr).toMatch(/serve --port \d+/);
  expect(host.stderr).not.toMatch(/\n\s+at /);
});

test("a terminal that is gone does not end the host, and it still stops in peace", async () => {
  const host = startCli(["serve", "--port", "0"], newFolder());
  const url = (await host.printed(/listens on +(http:\S+)/))[1] ?? "";
  host.child.stderr?.destroy();
  host.child.stdout?.destroy();
  const client = await A2EClient.connect({ transport: createNodeHttpTransport({ url }) });
  await client.disconnect();
  const left = new Promise((resolve) => host.child.once("exit", (code) => resolve(code)));
  host.child.kill("SIGTERM");
  expect(await left).toBe(0);
});

testWith(fullDevice)("output to a full disk does not end the host, which later exits with 1", async () => {
  const port = await findFreePort();
  const full = openSync("/dev/full", "w");
  const host = startCli(["serve", "--port", String(port)], newFolder(), {}, ["ignore", full, full]);
  closeSync(full);
  while (!(await isUp(port))) await new Promise((resolve) => setTimeout(resolve, 50));
  host.child.kill("SIGTERM");
  // It ended in order; that its output could not be written is a failure nevertheless.
  expect(await host.exited).toBe(1);
});

test("timers and sockets that a tool leaves open do not keep a command from ending", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "slow.mjs"), `setInterval(() => {}, 1_000);\n${slowTool}`);
  writeFileSync(join(folder, "a2e.yaml"), "plugins: [{ type: tools, metadata: { modules: [./slow.mjs] } }]\n");
  const host = startCli(["serve", "--port", "0"], folder);
  await host.printed(/Ctrl-C stops the host/);
  host.child.kill("SIGTERM");
  expect(await host.exited).toBe(0);
  const call = startCli(["call", "--config", "a2e.yaml", "js_eval", "--code", "'x'.repeat(300000)"], folder);
  expect(await call.exited).toBe(0);
  expect(call.stdout.length).toBe(300_001);
});

test("a request to stop while it starts ends it in order", async () => {
  const folder = newFolder();
  const tool = `process.kill(process.pid, "SIGTERM");\n${slowTool}`;
  writeFileSync(join(folder, "slow.mjs"), tool);
  writeFileSync(join(folder, "a2e.yaml"), "plugins: [{ type: tools, metadata: { modules: [./slow.mjs] } }]\n");
  const host = startCli(["serve", "--port", "0"], folder);
  expect(await host.exited).toBe(0);
  expect(host.stderr).toContain("Stopped.");
});

test("two hosts do not share a data folder; the second can use it after the first has ended", async () => {
  const folder = newFolder();
  const first = startCli(["serve", "--port", "0"], folder);
  await first.printed(/Ctrl-C stops the host/);
  const second = startCli(["serve", "--port", "0"], folder);
  expect(await second.exited).toBe(1);
  expect(second.stderr).toContain("another host uses it");
  first.child.kill("SIGKILL");
  await first.exited;
  const third = startCli(["serve", "--port", "0"], folder);
  await third.printed(/Ctrl-C stops the host/);
  third.child.kill("SIGTERM");
  expect(await third.exited).toBe(0);
});

test("a data folder that cannot be created is reported as such", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "taken"), "");
  const host = startCli(["serve", "--port", "0", "--data-dir", "taken"], folder);
  expect(await host.exited).toBe(1);
  expect(host.stderr).toContain("data_dir: the folder");
  expect(host.stderr).toContain("there is a file in its place");
  expect(host.stderr).toContain("doctor` looks at config, folders and port");
});

test("a typo in the config ends with 2", async () => {
  const folder = newFolder();
  writeFileSync(join(folder, "my.yaml"), "server:\n  prot: 1\n");
  const host = startCli(["serve", "--config", "my.yaml"], folder);
  expect(await host.exited).toBe(2);
  expect(host.stderr).toContain('my.yaml:2:3 server.prot: unknown key; did you mean "port"?');
});

test("without a token it does not listen on an address that other machines can reach", async () => {
  const host = startCli(["serve", "--host", "0.0.0.0", "--port", "0"], newFolder());
  expect(await host.exited).toBe(2);
  expect(host.stderr).toContain("A2E_AUTH_TOKEN");
});

test("--quiet prints no line", async () => {
  const folder = newFolder();
  const port = await findFreePort();
  const host = startCli(["serve", "--quiet", "--port", String(port)], folder);
  while (!(await isUp(port))) await new Promise((resolve) => setTimeout(resolve, 50));
  host.child.kill("SIGTERM");
  expect(await host.exited).toBe(0);
  expect(host.stdout + host.stderr).toBe("");
});

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function isUp(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}
