import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { env } from "../../caps/env/protocol.ts";
import { tools } from "../../caps/tools/protocol.ts";
import { A2EClient } from "../../client/client.ts";
import { startConfiguredHost } from "../../compose/configured-host.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../../transports/direct.ts";
import { runInProcess } from "../test-terminal.suite.ts";

const nextFolder = useTemporaryFolder();
let text = "";

beforeAll(async () => {
  const config = toHostConfig({ recording: { enabled: true } }, { baseDir: nextFolder(), env: {} });
  const host = await startConfiguredHost(config);
  const client = await A2EClient.connect({ transport: createDirectTransport(() => host.sessions.create()) });
  await client.use(tools).call({ tool_name: "js_eval", arguments: { code: "Math.random()" } });
  await client.use(env).reset({ env_name: "counter_env" });
  await client.disconnect();
  await host.close(0);
  const [name = ""] = readdirSync(config.recording.path);
  text = readFileSync(join(config.recording.path, name), "utf8");
});

function run(content: string, ...args: string[]) {
  const cwd = nextFolder();
  mkdirSync(cwd);
  writeFileSync(join(cwd, "session.ndjson"), content);
  return runInProcess(["replay", "session.ndjson", ...args], { cwd });
}

test("a recording that is replayed without a difference is identical, and no file is left in the folder", async () => {
  const cwd = nextFolder();
  mkdirSync(cwd);
  writeFileSync(join(cwd, "session.ndjson"), text);
  const { code, stdout, stderr } = await runInProcess(["replay", "session.ndjson"], { cwd });
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "identical  4 messages compared\n", stderr: "" });
  expect(readdirSync(cwd)).toEqual(["session.ndjson"]);
});

test("the first difference is shown with its request, field and values", async () => {
  const changed = text.replace(String.raw`\"max_parallel\":4`, String.raw`\"max_parallel\":\"\\u001b[31m5\"`);
  const { code, stdout } = await run(changed);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^diverged {2}at message 1, after 0 messages that were the same$/m);
  expect(stdout).toMatch(/^ {2}request {2}handshake\/req \w+$/m);
  expect(stdout).toMatch(/^ {2}field {4}max_parallel$/m);
  expect(stdout).toMatch(/^ {2}found {4}4$/m);
  expect(stdout).not.toContain("\u001b");
});

test("the report comes as JSON on request", async () => {
  const { code, stdout } = await run(text.slice(0, -30), "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ messages: 4, is_identical: true, cut: expect.any(String) });
});

test("tools are run again only on request", async () => {
  const { code, stdout } = await run(text, "--run-tools");
  expect(code).toBe(1);
  expect(stdout).toContain("field    data.data");
});

test.each([
  ["", "line 1 is damaged"],
  ["{}\n", "not a recording of a session"],
  ['{"a2e_recording":99}\n', "written by a newer release"],
])("a file that is not a recording exits with 2: %j", async (content, problem) => {
  const { code, stderr } = await run(content);
  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

test("a file that is not there ends with 2", async () => {
  const { code, stderr } = await runInProcess(["replay", "missing.ndjson"], { cwd: nextFolder() });
  expect(code).toBe(2);
  expect(stderr).toContain("cannot read");
});
