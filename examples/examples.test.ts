import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect } from "a2e";
import { loadHostConfig, toHostConfig } from "a2e/host";
import { startConfiguredServer } from "a2e/server";
import { afterEach, beforeEach, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a script as its reader would, against the source instead of an installed package; returns its output. */
async function runScript(path: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", path], {
    cwd: root,
    env: { ...process.env, ...env, TSX_TSCONFIG_PATH: `${root}tsconfig.json` },
    timeout: 240_000,
  });
  return stdout;
}

let dataDir: string;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "a2e-examples-"));
});

afterEach(() => rm(dataDir, { recursive: true, force: true }));

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

test("the first agent lists tools, follows one and prints its result", async () => {
  const config = toHostConfig({ server: { port: 0 }, data_dir: dataDir }, { env: {} });
  await using server = await startConfiguredServer(config);

  const output = await runScript(pathOf("first-agent.mjs"), { A2E_URL: server.url });

  expect(output).toContain("read_file");
  expect(output.match(/^event: log/gm)).toHaveLength(3);
  expect(output).toMatch(/^result: 42$/m);
});

test("a folder of tools named in a config is served", async () => {
  const config = await loadHostConfig(pathOf("own-tool/a2e.yaml"), { env: {} });
  const server = { ...config.server, port: 0 };
  await using running = await startConfiguredServer({
    ...config,
    server,
    data_dir: dataDir,
    workspace_dir: dataDir,
    audit: { ...config.audit, enabled: false },
    snapshot_store: { type: "memory" },
  });
  await using client = await connect(running.url);
  const progress: unknown[] = [];

  const { tools } = await client.tools.list();
  const { data } = await client.tools.call(
    { tool_name: "roll_dice", arguments: { count: 3 } },
    { onEvent: (event) => progress.push(event.data) },
  );

  expect(tools.map(({ name }) => name)).toEqual(["roll_dice"]);
  expect(progress).toEqual([1, 2, 3].map((done) => ({ done, count: 3 })));
  expect(data.data).toMatchObject({ rolls: [expect.any(Number), expect.any(Number), expect.any(Number)] });
});

test("an agent learns to balance the pole and draws how it did", async () => {
  const curve = join(dataDir, "curve.svg");

  const output = await runScript(pathOf("cartpole/learn-cartpole.js"), { REWARD_CURVE: curve });
  const means = [...output.matchAll(/mean reward ([\d.]+)/g)].map(([, mean]) => Number(mean));

  expect(means).toHaveLength(12);
  expect(means[0]).toBeLessThan(120);
  expect(means.at(-1)).toBeGreaterThan(400);
  expect(await readFile(curve, "utf8")).toMatch(/<polyline points="([\d.]+,[\d.]+ ?){12}"/);
});

test("an agent remembers in its second run what it learned in the first", async () => {
  const config = toHostConfig({ server: { port: 0 }, data_dir: dataDir }, { env: {} });
  const run = async () => {
    await using server = await startConfiguredServer(config);
    // Waited for here: the server goes with this block.
    return await runScript(pathOf("remembering-agent/remembering-agent.js"), { A2E_URL: server.url });
  };

  const first = await run();
  const second = await run();

  expect(first).toBe("visit 1; the last one: none\nI do not know what Ada drinks; she says: tea\ncups served: 1\n");
  expect(second).toMatch(/^visit 2; the last one: visit number 1$/m);
  expect(second).toMatch(/^I remember: Ada drinks tea with milk \(score 1\.00\)$/m);
  expect(second).toMatch(/^cups served: 2$/m);
});

test("a search by forks finds a way over the ice, and the first session then takes it", async () => {
  const output = await runScript(pathOf("tree-search/tree-search.js"), {});
  const [searched = "", way = "", taken = ""] = output.trim().split("\n");

  expect(searched).toMatch(/^\d+ forks; the first session has taken 0 steps$/);
  expect(way).toMatch(/^((left|down|right|up) ?){14,}$/);
  expect(taken).toBe(`reward 1 after ${way.split(" ").length} steps, 1 session left`);
});

test("an agent finds skills, follows one and answers the model's question of another", async () => {
  const output = await runScript(pathOf("skills/writing-agent.js"), {});

  expect(output).toMatch(/^house-style@1\.1\.0 \(instructions\): Before a text for readers is written\.$/m);
  expect(output).toMatch(/^title-text asks: A title of at most 6 words/m);
  expect(output).toMatch(/^progress: a title for 35 characters$/m);
  expect(output.trim().split("\n").at(-1)).toBe('title: {"title":"How the moon moves the sea,","words":6}');
});

test("a build is followed, answered, read on after a disconnect and stopped", async () => {
  const output = await runScript(pathOf("build-runner/build-runner.js"), {});
  const lines = output.trim().split("\n");

  expect(lines[0]).toBe("stdout: compiling");
  expect(lines.slice(-4)).toEqual([
    "warnings: warning: old syntax",
    "build: failed, exit code 3",
    "server: stopped by SIGKILL",
    'rm: Command not allowed: "rm" is not in allowed_commands',
  ]);
});

test("a chain writes, reads and counts in one request, and asks before it writes its report", async () => {
  const config = toHostConfig({ server: { port: 0 }, data_dir: dataDir, workspace_dir: dataDir }, { env: {} });
  await using server = await startConfiguredServer(config);

  const output = await runScript(pathOf("chain/word-count.js"), { A2E_URL: server.url });

  expect(output.match(/^done: .*$/gm)).toEqual(["write", "read", "words", "ok", "report"].map((id) => `done: ${id}`));
  expect(output).toMatch(/^write the report\? \{"words":9\}$/m);
  expect(output).toMatch(/^report: brown, dog, fox, jumps, lazy, over, quick, the, the$/m);
});

test("an agent uses an MCP server through a host, and answers its question", async () => {
  const config = await loadHostConfig(pathOf("mcp-servers/a2e.yaml"), { env: {} });
  await using running = await startConfiguredServer({
    ...config,
    server: { ...config.server, port: 0 },
    data_dir: dataDir,
    workspace_dir: dataDir,
  });

  const output = await runScript(pathOf("mcp-servers/tea-drinker.js"), { A2E_URL: running.url });

  expect(output.trim().split("\n")).toEqual([
    "tools: tea__brew, tea__name_blend",
    "progress: 1 of 2",
    "progress: 2 of 2",
    'brewed: {"content":[{"type":"text","text":"2 cups are ready"}]}',
    "menu: assam, darjeeling, mint",
    'the server asks: {"type":"text","text":"Name a blend of mint and lemon."}',
    'name: {"content":[{"type":"text","text":"Green Lightning"}]}',
  ]);
});

test("the agent of the ten-minutes page plans, calls a tool, runs a process and remembers its last run", {
  timeout: 120_000,
}, async () => {
  const config = await loadHostConfig(pathOf("ten-minutes/a2e.yaml"), { env: {} });
  await using server = await startConfiguredServer({
    ...config,
    server: { ...config.server, port: 0 },
    data_dir: join(dataDir, "data"),
    workspace_dir: join(dataDir, "workspace"),
  });

  const first = await runScript(pathOf("ten-minutes/agent.js"), { A2E_URL: server.url });
  const second = await runScript(pathOf("ten-minutes/agent.js"), { A2E_URL: server.url });

  expect(first).toBe("memory: this is the first run\nready: sort the words\nsorted: brown, fox, jumps, quick, the\n");
  expect(second).toContain('memory: last time it was "quick"');
});
