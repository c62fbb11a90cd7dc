// Malicious scripts: each call is answered, no process is left, and the session continues.
import { readdir, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Confinement, noSandboxes, type ProcessSandbox } from "../../plugin/ports/sandbox.ts";
import { type SkillHost, type StartOptions, startSkills } from "./start-skills.suite.ts";

async function startWith(code: string, options: StartOptions = {}, fields = ""): Promise<SkillHost> {
  const host = await startSkills(options);
  const prelude = "import json, os, sys, time\nline = sys.stdin.readline()\n";
  await host.add("hostile", `script: scripts/main.py\n${fields}`, { files: { "scripts/main.py": prelude + code } });
  await host.add("fine", "");
  return host;
}

/** The number of processes on this machine whose command line contains the mark. */
async function processesWith(mark: string): Promise<number> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.filter((line) => line.includes(mark)).length;
}

const result = 'print(json.dumps({"type": "result", "data": "done"}))';

test.each([
  [
    "prints garbage",
    `sys.stdout.buffer.write(b"\\xff\\x00{\\n{]\\n[1]\\n\\x1b[2J\\n" + b"\\n" * 100)\nsys.stdout.flush()\n${result}`,
    "done",
  ],
  [
    "prints JSON that is not a message",
    `print('{"type": 7}'); print('{"type": "shutdown"}'); print("null"); print('{"type": "event"}')\n${result}`,
    "done",
  ],
  ["sends its result twice", `${result}\nprint(json.dumps({"type": "result", "data": "again"}))`, "done"],
  ["keeps running after its result", `${result}\nsys.stdout.flush()\ntime.sleep(600)`, "done"],
  ["ends its output without a newline", `sys.stdout.write('{"type": "result", "data": "done"}')`, "done"],
  ["has a prototype in its data", `print('{"type": "result", "data": {"__proto__": {"a": 1}, "b": 2}}')`, { b: 2 }],
])("the result of a script that %s is still returned", async (_, code, data) => {
  await using host = await startWith(code);

  expect((await host.skills.call({ name: "hostile" })).data?.data).toEqual(data);
});

test.each([
  ["never ends", "while True: pass", { code: "timeout" }],
  [
    "prints without end",
    'while True: print("x" * 1000)',
    { code: "skill_error", message: expect.stringContaining("printed more than") },
  ],
  [
    "prints to stderr without end",
    'while True: sys.stderr.write("x" * 1000)',
    { code: "skill_error", message: expect.stringContaining("printed more than") },
  ],
  [
    "prints a line without end",
    'while True: sys.stdout.write("x" * 100000)',
    { code: "skill_error", message: expect.stringContaining("a line is longer than") },
  ],
  [
    "nests without end",
    `print('{"type": "result", "data": ' + "[" * 100000 + "]" * 100000 + "}")`,
    { code: "skill_error", message: expect.stringContaining("nested deeper") },
  ],
  ["kills itself", "os.kill(os.getpid(), 9)", { code: "sandbox_crash" }],
  ["kills all it can see", "os.kill(-1, 9)", { code: "skill_error" }],
  ["fills the memory", 'all = []\nwhile True: all.append("x" * 10_000_000)', { code: "out_of_memory" }],
  [
    "sends endless completion requests and reads no answer",
    `import random\nask = '{"type": "llm", "id": "' + "x" * 900000 + '"}'\nwhile True: print(ask, flush=True)`,
    { code: "skill_error", message: expect.stringContaining("does not read the answers") },
  ],
  ["closes its output and stays", "os.close(1); os.close(2); time.sleep(600)", { code: "timeout" }],
])("a call of a script that %s is answered with the reason", async (_, code, error) => {
  // Only a script that must time out gets a short time limit.
  const seconds = "code" in error && error.code === "timeout" ? 1 : 240;
  await using host = await startWith(code, { max_output_bytes: 8_000_000 }, `timeout_seconds: ${seconds}\nllm: true`);

  await expect(host.skills.call({ name: "hostile" })).rejects.toMatchObject(error);
  expect((await host.skills.call({ name: "fine" })).data?.success).toBe(true);
});

test("events that do not fit into a result are counted", async () => {
  await using host = await startWith(
    `for n in range(1500): print(json.dumps({"type": "event", "kind": "log", "data": {"n": n}}))\n${result}`,
  );

  const { data } = await host.skills.call({ name: "hostile", streaming: false });

  expect(data?.events).toHaveLength(1001);
  expect(data?.events.at(-1)).toEqual({ kind: "log", data: { dropped_events: 500 }, seq: 1001 });
});

test("children of a script are killed with it", async () => {
  const mark = `left-behind-${process.pid}`;
  await using host = await startWith(
    `import subprocess\nfor n in range(3): subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "${mark}"], start_new_session=True)\n${result}`,
  );

  expect((await host.skills.call({ name: "hostile" })).data?.data).toBe("done");
  expect(await processesWith(mark)).toBe(0);
});

test("without a sandbox, a child that holds the pipes of a script open does not delay the answer", async () => {
  await using host = await startWith(
    `import subprocess\nmark = json.loads(line)["input"]["mark"]\nsubprocess.Popen(["sh", "-c", 'sleep 20; touch "$0"', mark], start_new_session=True)\n${result}`,
    { sandbox: "none" },
  );
  const mark = join(host.folder, "still-running");

  expect((await host.skills.call({ name: "hostile", arguments: { mark } })).data?.data).toBe("done");
  await expect(readFile(mark)).rejects.toThrow("ENOENT");
});

test.each([
  ["a text too long for an error", `"x" * 100000`, "x".repeat(4000)],
  ["an object", `{"code": 7}`, '{"code":7}'],
])("a result with %s as its error is a failure", async (_, error, told) => {
  await using host = await startWith(`print(json.dumps({"type": "result", "data": 1, "error": ${error}}))`);

  expect((await host.skills.call({ name: "hostile" })).data).toMatchObject({ success: false, error: told });
});

test("a result with None as its error is a success", async () => {
  await using host = await startWith(`print(json.dumps({"type": "result", "data": 1, "error": None}))`);

  expect((await host.skills.call({ name: "hostile" })).data).toMatchObject({ success: true, error: null });
});

test("a script sees neither the environment and files of the host nor the secrets of its agent", async () => {
  await using host = await startWith(`
def tried(read):
    try: return read()
    except Exception as error: return type(error).__name__
print(json.dumps({"type": "result", "data": {
    "env": sorted(os.environ),
    "line": sorted(json.loads(line)),
    "passwd": tried(lambda: "/root:" in open("/etc/shadow").read()),
    "outside": tried(lambda: open(json.loads(line)["input"]["outside"]).read()),
    "write": tried(lambda: open("scripts/main.py", "w")),
    "uid": os.getuid() != 0,
}}))`);
  const outside = join(host.folder, "secret.txt");
  await host.write(outside, "secret");

  const { data } = await host.skills.call({
    name: "hostile",
    arguments: { outside },
    llm_override: { provider_name: "x", provider_credentials: { key: "y" } },
    metadata: { token: "z" },
  });

  const { env, ...seen } = (data?.data ?? {}) as Record<string, unknown>;
  expect(seen).toEqual({
    line: ["input", "skill", "type"],
    passwd: expect.stringMatching(/Error$/),
    outside: "FileNotFoundError",
    write: expect.stringMatching(/Error$/),
    uid: process.getuid?.() === 0 ? true : expect.any(Boolean),
  });
  expect(env).not.toContain("NODE_ENV");
  expect(env).toEqual(expect.arrayContaining(["A2E_SKILL", "A2E_SKILL_VERSION", "HOME", "PATH"]));
});

test("only skills that the config lists have access to the network", async () => {
  const server = createServer((socket) => socket.end("hello"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const code = `
import socket
try: data = socket.create_connection(("127.0.0.1", ${port})).recv(9).decode()
except OSError as error: data = type(error).__name__
print(json.dumps({"type": "result", "data": data}))`;
  try {
    await using without = await startWith(code, { network: ["another"] });
    await using named = await startWith(code, { network: ["hostile"] });
    expect((await without.skills.call({ name: "hostile" })).data?.data).toBe("ConnectionRefusedError");
    expect((await named.skills.call({ name: "hostile" })).data?.data).toBe("hello");
  } finally {
    server.close();
  }
});

test("a link within a skill does not lead out of its folder, nor out of its copy", async () => {
  const { symlink } = await import("node:fs/promises");
  await using host = await startWith(`print(json.dumps({"type": "result", "data": sorted(os.listdir("."))}))`);
  await symlink("/etc/passwd", host.at("project", "hostile", "passwd"));
  await symlink("/etc", host.at("project", "hostile", "etc"));

  expect((await host.skills.call({ name: "hostile" })).data?.data).toEqual(["SKILL.md", "scripts"]);
});

test("a sandbox that cannot be started is answered with an error and does not end the host", async () => {
  const confinement: Confinement = {
    file: "/no/such/program",
    args: [],
    cwd: "/",
    env: {},
    exitOf: (exit) => exit,
    verdict: async () => undefined,
    release: async () => {},
  };
  const broken: ProcessSandbox = {
    kind: "process",
    name: "broken",
    confine: async () => confinement,
    close: async () => {},
  };
  await using host = await startWith(result, { sandboxes: { ...noSandboxes, process: async () => broken } });

  await expect(host.skills.call({ name: "hostile" })).rejects.toMatchObject({
    code: "skill_error",
    message: expect.stringContaining("could not be started (spawn /no/such/program ENOENT)"),
  });
});

test("scripts run even if the umask of the host excludes other users", async () => {
  const before = process.umask(0o077);
  try {
    await using host = await startWith("import part\nprint(json.dumps({'type': 'result', 'data': part.value}))");
    await host.write(host.at("project", "hostile", "scripts", "part.py"), "value = 7");
    expect((await host.skills.call({ name: "hostile" })).data?.data).toBe(7);
  } finally {
    process.umask(before);
  }
});

test("a host without a sandbox answers script calls with an error that gives the reason", async () => {
  await using host = await startWith(result, { sandboxes: noSandboxes });

  await expect(host.skills.call({ name: "hostile" })).rejects.toMatchObject({
    code: "skill_error",
    retryable: false,
    message: expect.stringContaining("started without sandboxes"),
  });
});

test("scripts can access the workspace only if the config allows it", async () => {
  const code = `
path = os.environ.get("A2E_WORKSPACE")
if path: open(os.path.join(path, "made.txt"), "w").write("by a skill")
print(json.dumps({"type": "result", "data": path is not None}))`;
  await using without = await startWith(code);
  expect((await without.skills.call({ name: "hostile" })).data?.data).toBe(false);

  await using host = await startWith(code, { workspace: "write" });
  await host.write(join(host.folder, "workspace", "there.txt"), "");
  expect((await host.skills.call({ name: "hostile" })).data?.data).toBe(true);
  expect(await readFile(join(host.folder, "workspace", "made.txt"), "utf8")).toBe("by a skill");
});
