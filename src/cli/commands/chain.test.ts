import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runInProcess } from "../test-terminal.suite.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-chain-cli-"));
  await writeFile(
    join(folder, "a2e.yaml"),
    "data_dir: data\nplugins: [{ type: tools }, { type: chains }]\naudit: { enabled: false }\n",
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const chain = `
chain_id: greeting
nodes:
  - { node_id: write, kind: tool, name: write_file, input: { path: hello.txt }, input_map: { content: name } }
  - { node_id: read, kind: tool, name: read_file, input: { path: hello.txt }, deps: [write] }
  - { node_id: ok, kind: approval, message: Show it?, deps: [read] }
  - { node_id: all, kind: gather, input_map: { text: read.data.content }, deps: [ok] }
`;

async function run(text: string, ...args: string[]) {
  await writeFile(join(folder, "chain.yaml"), text);
  const [verb = "", ...rest] = args;
  return runInProcess(["chain", verb, "chain.yaml", "--config", "a2e.yaml", ...rest], { cwd: folder });
}

test("run prints the final output, and the outcome of each node beside it", async () => {
  const result = await run(chain, "run", "--input", '{"name": "world"}', "--yes");

  expect(JSON.parse(result.stdout)).toEqual({ text: "world" });
  expect(result.stderr).toMatch(/✓ write \(\d+ ms\)\n✓ read/);
  expect(result.code).toBe(0);
});

test("run without a terminal approves nothing and exits with a failure", async () => {
  const result = await run(chain, "run", "--input", '{"name": "world"}', "--json");

  expect(JSON.parse(result.stdout)).toMatchObject({ success: false, error: { detail: { code: "approval_denied" } } });
  expect(result.code).toBe(4);
});

test("validate prints every problem, and the values that a valid chain reads", async () => {
  const good = await run(chain, "validate");
  const bad = await run("[{ node_id: a, kind: tool, name: read_flie, deps: [a] }]", "validate");

  expect(good).toMatchObject({ code: 0, stdout: "4 nodes in 4 steps\nreads of its initial input: name\n" });
  expect(bad.code).toBe(1);
  expect(bad.stderr).toMatch(/chain_cycle .*a → a\nunknown_tool .*did you mean "read_file"\?/);
});

test("draw writes a picture, with times after a run", async () => {
  const plain = await run(chain, "draw");
  const ran = await run(chain, "draw", "--run", "--yes", "--input", '{"name": "x"}', "-o", "chain.svg");
  const picture = await readFile(join(folder, "chain.svg"), "utf8");

  expect(plain.stdout).toMatch(/^<svg .*<\/svg>\n$/s);
  expect(plain.stdout).not.toContain(" ms<");
  expect([ran.code, ran.stdout]).toEqual([0, ""]);
  expect(picture).toMatch(/greeting: 4 nodes in \d/);
});

test("draw prints the outcome of a run that failed or that the host refused", async () => {
  const failed = await run("[{ node_id: a, kind: tool, name: read_file, input: { path: none } }]", "draw", "--run");
  const refused = await run("[{ node_id: a, kind: tool, name: read_flie }]", "draw", "--run");

  expect([failed.code, failed.stderr]).toEqual([4, expect.stringContaining('error: "a" failed:')]);
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('did you mean "read_file"?')]);
});

test("a large output is printed instead of its reference", async () => {
  const large = '[{ node_id: a, kind: gather, input_map: { text: "pad_left(`\\"x\\"`, `200000`)" } }]';
  const text = "x".padStart(200_000);

  const plain = await run(large, "run");
  const all = await run(large, "run", "--json");

  expect(JSON.parse(plain.stdout)).toEqual({ text });
  expect(JSON.parse(all.stdout).outputs.a).toEqual({ text });
});

test("a file that is not there is named", async () => {
  const result = await runInProcess(["chain", "run", "gone.yaml", "--config", "a2e.yaml"], { cwd: folder });

  expect([result.code, result.stderr]).toEqual([2, expect.stringContaining("gone.yaml")]);
});

test.each([
  ["nodes: 5", "nodes"],
  ["just text", "expected a chain"],
  ["{ nodes: [", "chain.yaml:"],
])("a file that holds %j is refused with its name", async (text, why) => {
  const result = await run(text, "validate");

  expect([result.code, result.stderr]).toEqual([2, expect.stringContaining(why)]);
});
