// Nodes that run programs and skills, with the real capabilities.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { procPlugin } from "../proc/plugin.ts";
import { skillPlugin } from "../skill/plugin.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainLimits } from "./limits.ts";
import { chainsPlugin } from "./plugin.ts";
import { createRecordedTools } from "./start-chains.suite.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e-chains-"));
  await mkdir(join(folder, "skills", "greet"), { recursive: true });
  await writeFile(
    join(folder, "skills", "greet", "SKILL.md"),
    "---\nname: greet\ndescription: Greets.\n---\nSay hello to {who}.\n",
  );
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function start() {
  const { tools } = createRecordedTools();
  return startHost({
    plugins: [
      toolsPlugin({ builtin: false, tools }),
      procPlugin({ sandbox: "none", allowed_commands: ["*"], grace_seconds: 0.2 }),
      skillPlugin({ project: [join(folder, "skills")], user: [], builtin: false, watch: false }),
      chainsPlugin(),
    ],
    sandboxes: createSandboxes(),
    database: await createSqliteDatabase({ path: ":memory:" }),
    workspaceDir: folder,
    dataDir: join(folder, ".a2e"),
  });
}

test("a program is run to its end, with its input, and its output is collected", async () => {
  await using host = await start();
  const nodes = [
    { node_id: "say", kind: "proc", name: "echo", input: { args: ["hello"] } },
    { node_id: "cat", kind: "proc", input: { cmd: ["cat"] }, input_map: { stdin: "say.stdout" } },
    { node_id: "both", kind: "proc", input: { cmd: ["sh", "-c", "echo out; echo err >&2"] } },
  ];

  const { outputs, success } = await host.client.chains.run({ nodes });

  expect(success).toBe(true);
  expect(outputs.cat).toMatchObject({ exit_code: 0, stdout: "hello\n", stderr: "" });
  expect(outputs.both).toMatchObject({ stdout: "out\n", stderr: "err\n" });
});

test("a program that does not read its input succeeds, and very large output is truncated", async () => {
  await using host = await start();
  const nodes = [
    { node_id: "deaf", kind: "proc", input: { cmd: ["true"], stdin: "nobody reads this" }, timeout: 20 },
    { node_id: "loud", kind: "proc", input: { cmd: ["head", "-c", "3000000", "/dev/zero"] }, deps: ["deaf"] },
    { node_id: "size", kind: "gather", input_map: { length: "length(loud.stdout)", cut: "loud.truncated" } },
  ];

  const { final_output, error } = await host.client.chains.run({ nodes });

  expect(error).toBeNull();
  expect(final_output).toMatchObject({ cut: true });
  expect((final_output as { length: number }).length).toBeLessThanOrEqual(chainLimits.maxProcBytes);
});

test("a program that fails or does not start fails its node", async () => {
  await using host = await start();
  const run = (cmd: string[]) => host.client.chains.run({ nodes: [{ node_id: "p", kind: "proc", input: { cmd } }] });

  const failed = await run(["sh", "-c", "echo why >&2; exit 3"]);
  const missing = await run(["no-such-program-anywhere"]);

  expect(failed.error).toMatchObject({
    message: '"p" failed: "sh" ended with code 3',
    detail: { exit_code: 3, stderr: "why\n" },
  });
  expect(missing.error?.message).toContain('"no-such-program-anywhere" did not start');
});

test("the timeout of a node, the timeout of the chain, and a cancellation each end the program", async () => {
  await using host = await start();
  const sleep = { node_id: "p", kind: "proc", input: { cmd: ["sleep", "60"] } };
  const { chains, proc } = host.client;
  const running = async () => (await proc.status({})).procs.filter(({ state }) => state === "running").length;

  const node = await chains.run({ nodes: [{ ...sleep, timeout: 0.2 }] });
  const whole = await chains.run({ nodes: [sleep], timeout: 0.2 });
  const stop = new AbortController();
  const cancelled = chains.run({ nodes: [sleep] }, { signal: stop.signal }).catch(() => {});
  await expect.poll(running).toBe(1);
  stop.abort();
  await cancelled;

  expect(node.error).toMatchObject({ code: "chain_node_error" });
  expect(whole.error?.code).toBe("timeout");
  await expect.poll(running).toBe(0);
});

test("a skill is called by its kind, or as an action without a tool of that name", async () => {
  await using host = await start();
  const nodes = [
    { node_id: "s", kind: "skill", name: "greet", input: { who: "Ada" } },
    { node_id: "a", kind: "action", name: "greet", input: { who: "Bob" } },
    { node_id: "t", kind: "action", name: "echo", input: { v: 1 } },
  ];

  const { outputs, error } = await host.client.chains.run({ nodes });
  const wrong = await host.client.chains.validate({
    nodes: [
      { node_id: "s", kind: "skill", name: "gret" },
      { node_id: "a", kind: "action", name: "nobody" },
    ],
  });

  expect(error).toBeNull();
  expect(JSON.stringify(outputs.s)).toContain("Say hello to Ada.");
  expect(JSON.stringify(outputs.a)).toContain("Say hello to Bob.");
  expect(outputs.t).toEqual({ v: 1 });
  expect(wrong.problems.map(({ code }) => code)).toEqual(["unknown_skill", "unknown_tool"]);
});
