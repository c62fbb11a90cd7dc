// What people copy must work: the settings in the README, and the numbers and names in the guide.
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { expect, test } from "vitest";
import { tables } from "../../caps/tables.generated.ts";
import { define } from "../../cli/commands/mcp.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { mcpPaths } from "./http/http-door.ts";
import { mcpLimits } from "./limits.ts";
import { toCallTools } from "./surface/capability-tools.ts";

const root = new URL("../../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const guide = readFileSync(new URL("docs/guide/mcp-server.md", root), "utf8");
const section = readme.slice(readme.indexOf("## In your MCP client"), readme.indexOf("## What it is"));

interface Entry {
  command?: string;
  args?: string[];
  url?: string;
}

const entries = [...section.matchAll(/```json\n(.*?)```/gs)].map(([, text = ""]) => {
  const [servers = {}] = Object.values(JSON.parse(text) as Record<string, Record<string, Entry>>);
  return servers.a2e ?? {};
});

function optionsOf(args: readonly string[]): string[] {
  return args.filter((arg) => arg.startsWith("--"));
}

test("each entry for a client starts `a2e mcp` with options that it has, or names the address of a host", () => {
  const command = new Command("mcp");
  define(command, {} as Terminal);
  const known = command.options.map(({ long }) => long);

  expect(entries).toHaveLength(6);
  for (const { command: program, args = [], url } of entries) {
    if (url !== undefined) expect(new URL(url).pathname).toBe(mcpPaths.streamable);
    else {
      expect([program, ...args.slice(0, 3)]).toEqual(["npx", "-y", "a2e", "mcp"]);
      expect(known).toEqual(expect.arrayContaining(optionsOf(args)));
    }
  }
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
