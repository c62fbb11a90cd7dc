import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../stores/temporary-folder.suite.ts";
import { useCli } from "../started-cli.suite.ts";

const nextPath = useTemporaryFolder();
const startCli = useCli();

/** A tool that prints, as other people's code does, at load and when it runs. */
const chattyTool = `console.log("loading"); console.error("oh"); process.stderr.write("");
export const chatty = { name: "chatty", description: "Talks.", inputSchema: {}, kind: "function", tags: [], version: "1",
  isIdempotent: true, isStreaming: false, isDeferred: false, source: "", check: (value) => ({ value }),
  run: () => { console.log("running"); console.table([1]); return { data: "said" }; } };`;

function newProject(): string {
  const folder = nextPath();
  mkdirSync(folder);
  writeFileSync(join(folder, "chatty.mjs"), chattyTool);
  writeFileSync(join(folder, "a2e.yaml"), "plugins: [{ type: tools, metadata: { modules: [./chatty.mjs] } }]\n");
  return folder;
}

function line(type: string, id: string, fields: object = {}): string {
  return `${JSON.stringify({ type, id, a2e: "1.0", version: "1.0", ...fields })}\n`;
}

const hello = line("handshake/req", "1", { agent_id: "test", agent_caps: ["tools"] });

function messages(stdout: string): Record<string, unknown>[] {
  expect(stdout.endsWith("\n")).toBe(true);
  return stdout
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as Record<string, unknown>);
}

test("stdout carries messages only and stderr nothing, even if tools print; the end of input ends the host with 0", async () => {
  const folder = newProject();
  const host = startCli(["stdio"], folder);
  host.child.stdin?.end(`${hello}not json\n${line("tool/call/req", "2", { tool_name: "chatty", arguments: {} })}`);
  expect(await host.exited).toBe(0);
  const answers = messages(host.stdout);
  expect(answers.find(({ req_id }) => req_id === "1")).toMatchObject({ type: "handshake/resp", ok: true });
  expect(answers.find(({ req_id }) => req_id === "2")).toMatchObject({ data: { success: true, data: "said" } });
  expect(answers.filter(({ code }) => code === "parse_error")).toHaveLength(1);
  expect(host.stderr).toBe("");
  const log = readFileSync(join(folder, ".a2e/stdio.log"), "utf8");
  expect(log).toContain("loading");
  expect(log).toContain("running");
  expect(readFileSync(join(folder, ".a2e/.gitignore"), "utf8")).toBe("*\n");
});

test("SIGTERM ends it with 0", async () => {
  const host = startCli(["stdio"], newProject());
  host.child.stdin?.write(hello);
  await host.printed(/handshake\/resp/);
  host.child.kill("SIGTERM");
  expect(await host.exited).toBe(0);
  expect(messages(host.stdout).at(-1)).toMatchObject({ type: "session/closed" });
});

test("SIGTERM ends a host on stdio whose output is not read, and which therefore reads no further input", async () => {
  const host = startCli(["stdio"], newProject());
  host.child.stdin?.write(hello);
  await host.printed(/handshake\/resp/);
  host.child.stdout?.pause();
  host.child.stdin?.on("error", () => {});
  // More than the pipes and the host's own buffers hold: the host stops reading while its answers wait.
  const text = line("nonsense/req", "x".repeat(500)).repeat(1000);
  for (let count = 0; count < 20; count++) host.child.stdin?.write(text);
  let waiting = -1;
  const isStuck = () => {
    const before = waiting;
    waiting = host.child.stdin?.writableLength ?? 0;
    return waiting > 0 && waiting === before;
  };
  await expect.poll(isStuck, { interval: 200 }).toBe(true);
  host.child.kill("SIGTERM");
  const left = new Promise((resolve) => host.child.once("exit", (code) => resolve(code)));
  expect(await left).toBe(0);
  host.child.stdout?.resume();
});

test("an unhandled rejection of a plugin is logged, and the host continues", async () => {
  const folder = newProject();
  const careless = chattyTool.replace("run: () => {", "run: () => { void Promise.reject(new Error('left behind'));");
  writeFileSync(join(folder, "chatty.mjs"), careless);
  const host = startCli(["stdio"], folder);
  const call = (id: string) => line("tool/call/req", id, { tool_name: "chatty", arguments: {} });
  host.child.stdin?.write(`${hello}${call("2")}`);
  await host.printed(/"req_id":"2"/);
  host.child.stdin?.end(call("3"));
  expect(await host.exited).toBe(0);
  expect(messages(host.stdout).find(({ req_id }) => req_id === "3")).toMatchObject({ data: { success: true } });
  expect(host.stderr).toBe("");
  expect(readFileSync(join(folder, ".a2e/stdio.log"), "utf8")).toContain("left behind");
});

test("a config error is reported on stderr, and stdout stays empty", async () => {
  const folder = newProject();
  writeFileSync(join(folder, "a2e.yaml"), "hosst_id: x\n");
  const host = startCli(["stdio"], folder);
  expect(await host.exited).toBe(2);
  expect(host.stdout).toBe("");
  expect(host.stderr).toContain("hosst_id");
});
