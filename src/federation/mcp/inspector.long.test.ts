// The inspector of the MCP project in its command-line mode: a third-party client.
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { cliArguments } from "../../cli/started-cli.suite.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { addTool, useMcpHosts } from "./started-mcp-host.suite.ts";

const startHost = useMcpHosts();
const nextPath = useTemporaryFolder();
const require = createRequire(import.meta.url);
const inspector = layOutInspector();
const _main = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** The package reads the version of the inspector from two folders up, so it is copied to where it expects to be. */
function layOutInspector(): string {
  const folder = nextPath();
  const installed = dirname(require.resolve("@modelcontextprotocol/inspector-cli/package.json"));
  cpSync(join(installed, "build"), join(folder, "cli", "build"), { recursive: true });
  copyFileSync(join(installed, "package.json"), join(folder, "package.json"));
  copyFileSync(join(installed, "package.json"), join(folder, "cli", "package.json"));
  if (existsSync(join(installed, "node_modules"))) {
    symlinkSync(join(installed, "node_modules"), join(folder, "cli", "node_modules"));
  }
  symlinkSync(join(installed, "..", ".."), join(folder, "node_modules"));
  return join(folder, "cli", "build", "cli.js");
}

function inspect(args: readonly string[]): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [inspector, "--cli", ...args], (error, stdout, stderr) => {
      if (error !== null) reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
      else resolve(JSON.parse(stdout) as Record<string, unknown>);
    });
  });
}

/** Starts `a2e mcp` as desktop assistants do: by an entry in a config file. */
function stdioTarget(): string[] {
  const folder = nextPath();
  mkdirSync(join(folder, "notes"), { recursive: true });
  writeFileSync(join(folder, "notes", "tea.md"), "# Tea\n");
  const args = [...cliArguments(), "mcp"];
  const settings = ["--data-dir", join(folder, "data"), "--workspace", join(folder, "notes")];
  const config = { mcpServers: { a2e: { command: process.execPath, args: [...args, ...settings] } } };
  writeFileSync(join(folder, "mcp.json"), JSON.stringify(config));
  return ["--config", join(folder, "mcp.json"), "--server", "a2e"];
}

async function httpTarget(path: string, transport: string): Promise<string[]> {
  const { url, workspace } = await startHost({ tools: [addTool], authToken: "s3cret" });
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, "tea.md"), "# Tea\n");
  return [`${url}${path}`, "--transport", transport, "--header", "Authorization: Bearer s3cret"];
}

const targets: Record<string, () => string[] | Promise<string[]>> = {
  "a2e mcp over stdio": stdioTarget,
  "/mcp over HTTP": () => httpTarget("/mcp", "http"),
  "/mcp/sse over HTTP": () => httpTarget("/mcp/sse", "sse"),
};

describe.each(Object.entries(targets))("the inspector against %s", (_name, createTarget) => {
  test("lists and calls tools, lists and reads resources", async () => {
    const target = await createTarget();

    const { tools } = await inspect([...target, "--method", "tools/list"]);
    const called = await inspect([
      ...target,
      "--method",
      "tools/call",
      "--tool-name",
      "js_eval",
      "--tool-arg",
      "code=6*7",
    ]);
    const { resources } = await inspect([...target, "--method", "resources/list"]);
    const read = await inspect([...target, "--method", "resources/read", "--uri", "workspace:///tea.md"]);

    expect(tools).toContainEqual(expect.objectContaining({ name: "memory_recall" }));
    expect(called.content).toMatchObject([{ type: "text", text: "42" }]);
    expect(resources).toMatchObject([{ uri: "workspace:///tea.md", mimeType: "text/markdown" }]);
    expect(read.contents).toMatchObject([{ text: "# Tea\n" }]);
  });
});
