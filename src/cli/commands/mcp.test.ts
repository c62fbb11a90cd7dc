import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { stdioClients } from "../../federation/mcp/mcp-clients.suite.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { cliArguments, useCli } from "../started-cli.suite.ts";

const nextPath = useTemporaryFolder();
const startCli = useCli();
const _main = fileURLToPath(new URL("../main.ts", import.meta.url));

/** A tool that prints, as other people's code does, at load and when it runs. */
const chattyTool = `console.log("loading"); console.error("oh");
export const chatty = { name: "chatty", description: "Talks.", inputSchema: { type: "object" }, kind: "function", tags: [],
  version: "1", isIdempotent: true, isStreaming: false, isDeferred: false, source: "", check: (value) => ({ value }),
  run: () => { console.log("running"); return { data: "said" }; } };`;

function newProject(): string {
  const folder = nextPath();
  mkdirSync(join(folder, "notes"), { recursive: true });
  writeFileSync(join(folder, "notes", "tea.md"), "# Tea\n");
  writeFileSync(join(folder, "chatty.mjs"), chattyTool);
  writeFileSync(
    join(folder, "a2e.yaml"),
    "auth_token: s3cret\nworkspace_dir: notes\nplugins: [{ type: tools, metadata: { modules: [./chatty.mjs] } }, { type: memory }]\n",
  );
  return folder;
}

const inProject = (cwd: string) => ({
  command: process.execPath,
  args: [...cliArguments(), "mcp"],
  cwd,
});

function line(method: string, params: object, id?: number): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, params })}\n`;
}

const hello = line(
  "initialize",
  { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
  1,
);

describe.each(Object.entries(stdioClients))("a client of %s", (_revision, connect) => {
  test("uses tools, memory and files of the host that it starts", async () => {
    const client = await connect(inProject(newProject()));

    const { tools } = await client.listTools();
    const said = await client.callTool({ name: "chatty", arguments: {} });
    await client.callTool({ name: "memory_remember", arguments: { entries: [{ key: "k", content: "v" }] } });
    const { structuredContent } = await client.callTool({ name: "memory_recall", arguments: {} });
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: "workspace:///tea.md" });

    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["chatty", "memory_recall"]));
    expect(tools.map(({ name }) => name)).not.toContain("env_reset");
    expect(said.content).toEqual([{ type: "text", text: "said" }]);
    expect(structuredContent).toMatchObject({ total: 1 });
    expect(resources).toMatchObject([{ uri: "workspace:///tea.md" }]);
    expect(contents).toMatchObject([{ text: "# Tea\n" }]);
    await client.close();
  });
});

test("two clients with the same data folder share the memory of the same agent", async () => {
  const folder = newProject();
  const connect = stdioClients["2025-11-25, SDK 2"];
  const [one, two] = await Promise.all([connect?.(inProject(folder)), connect?.(inProject(folder))]);

  await one?.callTool({ name: "memory_remember", arguments: { entries: [{ key: "k", content: "shared" }] } });
  const found = await two?.callTool({ name: "memory_recall", arguments: {} });

  expect(found?.structuredContent).toMatchObject({ total: 1, entries: [{ content: "shared" }] });
});

test("stdout carries messages only and stderr nothing, even if tools print; the end of input ends the host with 0", async () => {
  const folder = newProject();
  const host = startCli(["mcp"], folder);
  const deep = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"chatty","arguments":{"x":${"[".repeat(5000)}${"]".repeat(5000)}}}}\n`;
  host.child.stdin?.write(`${hello}${line("notifications/initialized", {})}not json\n{"jsonrpc":"2.0"}\n${deep}`);
  host.child.stdin?.write(line("tools/call", { name: "chatty", arguments: {} }, 2));
  await host.printed(/"id":2/);
  host.child.stdin?.end();

  expect(await host.exited).toBe(0);
  const messages = host.stdout
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as { id?: number; result?: unknown });
  expect(messages.find(({ id }) => id === 1)?.result).toMatchObject({ serverInfo: { name: "a2e" } });
  expect(messages.find(({ id }) => id === 2)?.result).toMatchObject({ content: [{ text: "said" }] });
  expect(host.stderr).toBe("");
  const log = readFileSync(join(folder, ".a2e/mcp.log"), "utf8");
  expect(log).toContain("loading");
  expect(log).toContain("running");
});

test("SIGTERM ends it with 0", async () => {
  const host = startCli(["mcp"], newProject());
  host.child.stdin?.write(hello);
  await host.printed(/serverInfo/);

  host.child.kill("SIGTERM");

  expect(await host.exited).toBe(0);
});

test("--agent chooses whose memory it is", async () => {
  const folder = newProject();
  const connect = stdioClients["2025-11-25, SDK 2"];
  const as = (agent: string) => {
    const child = inProject(folder);
    return connect?.({ ...child, args: [...child.args, "--agent", agent] });
  };
  const ada = await as("ada");
  await ada?.callTool({ name: "memory_remember", arguments: { entries: [{ key: "k", content: "hers" }] } });
  await ada?.close();

  const [again, bob] = await Promise.all([as("ada"), as("bob")]);
  const [hers, his] = [
    await again?.callTool({ name: "memory_recall" }),
    await bob?.callTool({ name: "memory_recall" }),
  ];

  expect(hers?.structuredContent).toMatchObject({ total: 1 });
  expect(his?.structuredContent).toMatchObject({ total: 0 });
});
