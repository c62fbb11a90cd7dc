// Settings, numbers and names in the guide must work when they are copied.
import { mkdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Command } from "commander";
import { expect, test } from "vitest";
import { tables } from "../../caps/tables.generated.ts";
import { define } from "../../cli/commands/mcp.ts";
import { cliArguments } from "../../cli/started-cli.suite.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { mcpPaths } from "./http/http-door.ts";
import { mcpLimits } from "./limits.ts";
import { addTool, useMcpHosts } from "./started-mcp-host.suite.ts";
import { toCallTools } from "./surface/capability-tools.ts";

const root = new URL("../../../", import.meta.url);
const guide = readFileSync(new URL("docs/guide/mcp-server.md", root), "utf8");
const section = guide.slice(guide.indexOf("## Entries for clients"), guide.indexOf("## What a client sees"));

const startHost = useMcpHosts();
const nextPath = useTemporaryFolder();

interface Entry {
  command?: string;
  args?: string[];
  url?: string;
  headers?: Record<string, string>;
}

const files = [...section.matchAll(/```json\n(.*?)```/gs)].map(([, text = ""]): Entry => {
  const [servers = {}] = Object.values(JSON.parse(text) as Record<string, Record<string, Entry>>);
  return servers.a2e ?? {};
});

/** The arguments of a client's command: `<client> mcp add a2e -- <command>`, or an address and a header. */
const commands = [...section.matchAll(/```sh\n\w+ mcp add (.*?)\n```/g)].map(([, text = ""]): Entry => {
  const [, program] = text.split(" -- ");
  const [command, ...args] = program?.split(" ") ?? [];
  const [url] = /http:\S+/.exec(text) ?? [];
  const [, name = "", value = ""] = /--header "(\S+): (.*)"/.exec(text) ?? [];
  return command === undefined ? { ...(url && { url }), headers: { [name]: value } } : { command, args };
});

const entries = [...files, ...commands];

function optionsOf(args: readonly string[]): string[] {
  return args.filter((arg) => arg.startsWith("--"));
}

test("each entry for a client starts `a2e mcp` with valid options, or names the address of a host", () => {
  const command = new Command("mcp");
  define(command, {} as Terminal);
  const known = command.options.map(({ long }) => long);

  expect([files.length, commands.length]).toEqual([6, 3]);
  for (const { command: program, args = [], url } of entries) {
    if (url !== undefined) expect(new URL(url).pathname).toBe(mcpPaths.streamable);
    else {
      expect([program, ...args.slice(0, 3)]).toEqual(["npx", "-y", "a2e", "mcp"]);
      expect(known).toEqual(expect.arrayContaining(optionsOf(args)));
    }
  }
});

test("each command and each address with its header in the guide serves a client", async () => {
  const token = "s3cret-of-the-readme";
  const { url: address } = await startHost({ tools: [addTool], authToken: token });
  const folder = nextPath();
  mkdirSync(folder, { recursive: true });
  const _main = fileURLToPath(new URL("src/cli/main.ts", root));
  const toTransport = ({ args = [], url = "", headers = {} }: Entry) => {
    if (url !== "") {
      const given = Object.entries(headers).map(([name, value]) => [name, value.replace("YOUR_TOKEN", token)]);
      const requestInit = { headers: Object.fromEntries(given) };
      return new StreamableHTTPClientTransport(new URL(new URL(url).pathname, address), { requestInit });
    }
    const own = args.slice(args.indexOf("a2e") + 1).map((arg) => arg.replace(/^(\/home\/me|~|\$\{\w+\})/, folder));
    const command = { command: process.execPath, args: [...cliArguments(), ...own] };
    return new StdioClientTransport({ ...command, cwd: folder, stderr: "ignore" });
  };
  // The entries of several clients differ only in the file that they are written to.
  const different = new Map(entries.map((entry) => [JSON.stringify(entry), entry]));

  for (const entry of different.values()) {
    const client = new Client({ name: "reader", version: "1" });
    await client.connect(toTransport(entry));
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toContain("memory_recall");
  }
});

test("the file of Codex names the address of a host and the variable of its token", () => {
  const [, text = ""] = /```toml\n(.*?)```/s.exec(section) ?? [];
  const [, url = ""] = /^url = "(.*)"$/m.exec(text) ?? [];

  expect(text).toMatch(/^\[mcp_servers\.a2e\]$/m);
  expect(new URL(url).pathname).toBe(mcpPaths.streamable);
  expect(text).toMatch(/^bearer_token_env_var = "A2E_AUTH_TOKEN"$/m);
});

test("the tools that the guide names exist, and its limits are the limits", () => {
  const names = toCallTools(Object.values(tables)).map(({ tool }) => tool.name);
  const told = [...guide.matchAll(/`((?:memory|env|planning|chain)_[a-z_]+|skill_read_file)`/g)].map(
    ([, name]) => name,
  );
  expect(names).toEqual(expect.arrayContaining(told));
  expect(told.length).toBeGreaterThan(15);
  expect(guide).toContain(`${mcpLimits.maxListed} entries a page (files ${mcpLimits.maxListedFiles})`);
  expect(guide).toContain(`${mcpLimits.maxResourceBytes / 1024 / 1024} MiB is not handed out`);
  expect(guide).toContain(`${mcpLimits.maxReplayedEvents.toLocaleString("en")} messages`);
  expect(guide).toContain(`have ${mcpLimits.bridgedListMs / 1000} s to list`);
  expect(guide).toContain(`within ${mcpLimits.lastAnswersMs / 1000} s, and the host ends`);
});
