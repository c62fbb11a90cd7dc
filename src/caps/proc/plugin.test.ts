import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dataOf, startProc } from "./proc-host.suite.ts";

test("a process is started by its arguments, and its output and end come after the answer", async () => {
  await using host = await startProc();
  const answer = await host.api.spawn({ cmd: ["echo", "$HOME; a  b"] });
  const end = await host.end(answer.proc_id);

  expect(answer).toMatchObject({ ok: true, error: "", sandbox: "none" });
  expect(answer.pid).toBeGreaterThan(1);
  expect(host.textOf(answer.proc_id)).toBe("$HOME; a  b\n");
  expect(dataOf(end)).toEqual({ code: 0, exit_code: 0, signal: "", status: "completed", state: "stopped", error: "" });
  const types = host.wire.filter(({ message }) => message.type.startsWith("proc/")).map(({ message }) => message.type);
  expect(types).toEqual(["proc/spawn/req", "proc/spawn/resp", "proc/read/event", "proc/read/event"]);
  const spawnId = host.wire.find(({ message }) => message.type === "proc/spawn/req")?.message.id;
  expect(host.events.map(({ req_id, seq, kind, stream_type }) => [req_id, seq, kind, stream_type])).toEqual([
    [spawnId, 1, "log", "stdout"],
    [spawnId, 2, "status", "stdout"],
  ]);
});

test("stdout and stderr are separate, each in order", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; exit 3");
  const end = await host.end(proc_id);

  expect(host.textOf(proc_id)).toBe("out 1\nout 2\nout 3\nout 4\nout 5\n");
  expect(host.textOf(proc_id, "stderr")).toBe("err 1\nerr 2\nerr 3\nerr 4\nerr 5\n");
  expect(end.stream_type).toBe("stderr");
  expect(dataOf(end)).toMatchObject({ code: 3, exit_code: 3, status: "failed", state: "crashed" });
});

test.each([
  [{ cmd: [] }, "Empty command"],
  [{ cmd: [""] }, "Empty command"],
  [{ cmd: "ls -l" }, "list"],
  [{ cmd: ["no-such-program"] }, "not found"],
  [{ cmd: ["/no/such/program"] }, "not found"],
  [{ cmd: ["echo"], cwd: "no/such/folder" }, "folder"],
  [{ cmd: ["echo"], cwd: "/dev/null" }, "folder"],
  [{ cmd: ["echo", "a\0b"] }, "zero byte"],
  [{ cmd: ["echo"], env: { "A=B": "c" } }, "not a valid variable name"],
  [{ cmd: ["echo"], env: { LD_PRELOAD: "/tmp/evil.so" } }, "not allowed"],
  [{ cmd: ["echo"], stdin_mode: "inherit" }, "stdin_mode"],
  [{ cmd: ["echo"], stdin_mode: "constructor" }, "stdin_mode"],
  [{ cmd: ["cat"], stdin_mode: "null", pty: true }, "terminal"],
  [{ cmd: ["./script"] }, ""],
  [{ cmd: ["./script"], pty: true }, "/no/such/interpreter"],
])("a process that cannot be started is answered with the reason: %j", async (request, reason) => {
  await using host = await startProc();
  // A file whose interpreter is missing fails only when it is executed.
  await writeFile(join(host.folder, "script"), "#!/no/such/interpreter\n");
  await chmod(join(host.folder, "script"), 0o755);

  const answer = await host.api.spawn(request);

  expect(answer).toMatchObject({ ok: false, proc_id: "", pid: 0 });
  expect(answer.error).toContain(reason);
  expect(answer.error).not.toBe("");
  expect((await host.api.status()).procs).toEqual([]);
});

test("only allowed programs run, by name or path, and never by a link that borrows a name", async () => {
  await using host = await startProc({
    allowed_commands: ["echo", "/usr/bin/env", { command: "ls", args: ["-*", "*.txt"] }],
  });
  await mkdir(join(host.folder, "bin"));
  await symlink("/bin/sh", join(host.folder, "bin", "echo"));
  const isOk = async (...cmd: string[]) => (await host.api.spawn({ cmd, env: { PATH: join(host.folder, "bin") } })).ok;

  expect(await isOk("echo", "x")).toBe(true);
  expect(await isOk("/usr/bin/echo", "x")).toBe(true);
  expect(await isOk("env")).toBe(true);
  expect(await isOk("ls", "-l", "a.txt")).toBe(true);
  expect(await isOk("ls", "-l", "secret")).toBe(false);
  expect(await isOk("sh", "-c", "true")).toBe(false);
  expect(await isOk("/bin/sh")).toBe(false);
  expect(await isOk("bin/echo")).toBe(false);
  expect(await isOk(join(host.folder, "bin", "echo"))).toBe(false);
  expect(await isOk("../../../../../bin/sh")).toBe(false);
  const { error } = await host.api.spawn({ cmd: ["sh"] });
  expect(error).toContain("not allowed");
  const outputs = host.events.map((event) => dataOf(event).error ?? "");
  expect(outputs.every((text) => text === "")).toBe(true);
});

test("both spellings of the list are accepted, but not both at once", async () => {
  const { parseProcOptions } = await import("./options.ts");

  expect(parseProcOptions({ ALLOWED_COMMANDS: ["git"] }).allowed_commands).toEqual(["git"]);
  expect(parseProcOptions({ allowed_commands: ["git"] }).allowed_commands).toEqual(["git"]);
  expect(parseProcOptions({}).allowed_commands).not.toContain("sh");
  expect(() => parseProcOptions({ ALLOWED_COMMANDS: ["a"], allowed_commands: ["a"] })).toThrow("set only one of them");
  expect(() => parseProcOptions({ alowed_commands: [] })).toThrow("allowed_commands");
});

test("a config with a relative path as a command is rejected, because the agent chooses the working directory", async () => {
  const { parseProcOptions } = await import("./options.ts");

  for (const command of ["bin/run", "./run", "../run"]) {
    expect(() => parseProcOptions({ allowed_commands: [command] })).toThrow("absolute path");
    expect(() => parseProcOptions({ allowed_commands: [{ command }] })).toThrow("absolute path");
  }
});

test("a long command is shortened in its status, and run completely", async () => {
  await using host = await startProc();
  const argument = "x".repeat(100_000);
  const { proc_id } = await host.run(["sh", "-c", 'echo $(printf %s "$1" | wc -c) "$2"', "sh", argument, "last"]);
  await host.end(proc_id);
  const { cmd } = await host.api.status({ proc_id });

  expect(host.textOf(proc_id)).toBe("100000 last\n");
  expect(cmd.slice(0, 2)).toEqual(["sh", "-c"]);
  expect(cmd.join("").length).toBeLessThan(9000);
  expect(cmd.at(-1)).toBe("…");
});

test("a process gets the named variables of the host, and variables of the agent that are not denied", async () => {
  process.env.A2E_TEST_SECRET = "secret";
  process.env.A2E_TEST_SHARED = "shared";
  await using host = await startProc({ inherit_env: ["PATH", "A2E_TEST_SHARED"], env: { FIXED: "1", OWN: "host" } });
  try {
    const { proc_id } = await host.run(["env"], { env: { OWN: "agent" } });
    await host.end(proc_id);
    const variables = new Map(
      host
        .textOf(proc_id)
        .trim()
        .split("\n")
        .map((line) => line.split("=", 2) as [string, string]),
    );

    expect(variables.get("A2E_TEST_SHARED")).toBe("shared");
    expect([variables.get("FIXED"), variables.get("OWN")]).toEqual(["1", "agent"]);
    expect([...variables.keys()].sort()).toEqual(["A2E_PROC_ID", "A2E_TEST_SHARED", "FIXED", "HOME", "OWN", "PATH"]);
  } finally {
    delete process.env.A2E_TEST_SECRET;
    delete process.env.A2E_TEST_SHARED;
  }
});

test("a process runs in the workspace, or in the named folder of it", async () => {
  await using host = await startProc();
  await mkdir(join(host.folder, "inner"));
  const pwd = async (cwd: string) => {
    const { proc_id } = await host.run(["pwd"], { cwd });
    await host.end(proc_id);
    return host.textOf(proc_id).trim();
  };

  expect(await pwd("")).toBe(host.folder);
  expect(await pwd("inner")).toBe(join(host.folder, "inner"));
  expect(await pwd("/tmp")).toBe("/tmp");
});

test("written data reaches the input, as text or as bytes, until it is closed", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["od", "-An", "-tx1"]);

  expect(await host.api.write({ proc_id, data: "é" })).toMatchObject({ ok: true, bytes: 2, proc_id });
  expect(host.wire.at(-1)?.message).toMatchObject({ type: "proc/write/resp", ok: true, success: true });
  await host.api.write({ proc_id, data: Buffer.from([0, 255]).toString("base64"), encoding: "base64", eof: true });
  await host.end(proc_id);

  expect(host.textOf(proc_id).trim()).toBe("c3 a9 00 ff");
  await expect(host.api.write({ proc_id, data: "x" })).rejects.toMatchObject({ code: "proc_dead" });
});

test("invalid base64 is rejected and not written", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["cat"]);
  for (const data of ["no base64!", "A", "AAA*"])
    expect(await host.api.write({ proc_id, data, encoding: "base64" })).toMatchObject({ ok: false, bytes: 0 });

  expect(await host.api.write({ proc_id, data: "aGk", encoding: "base64", eof: true })).toMatchObject({ bytes: 2 });
  await host.end(proc_id);
  expect(host.textOf(proc_id)).toBe("hi");
});

test("rejecting text that resembles base64 takes linear time", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["cat"]);
  const data = `${"=".repeat(400_000)}x`;

  expect(await host.api.write({ proc_id, data, encoding: "base64" })).toMatchObject({ ok: false, bytes: 0 });
  expect(await host.api.write({ proc_id, data: "aGk=\n", encoding: "base64" })).toMatchObject({ ok: true, bytes: 2 });
});

test("a process without input reads the end of its input at once", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["cat"], { stdin_mode: "null" });
  const end = await host.end(proc_id);

  expect(dataOf(end).code).toBe(0);
});

test("a status has the fields of both dialects, for one process and for all", async () => {
  await using host = await startProc();
  const { proc_id, pid } = await host.sh("exit 7");
  await host.end(proc_id);
  const { proc_id: other } = await host.run(["sleep", "60"]);
  const status = await host.api.status({ proc_id });
  const all = await host.api.status();

  expect(status).toMatchObject({
    proc_id,
    status: "failed",
    state: "crashed",
    error: "",
    exit_code: 7,
    signal: "",
    pid,
    cmd: ["sh", "-c", "exit 7"],
    cwd: host.folder,
    detached: false,
    sandbox: "none",
  });
  expect(status.procs).toHaveLength(1);
  expect(all).toMatchObject({ proc_id: "", status: "ok", state: "", error: "" });
  expect(all.procs.map((one) => [one.proc_id, one.state, one.exit_code])).toEqual([
    [proc_id, "crashed", 7],
    [other, "running", null],
  ]);
  expect(await host.api.status({ proc_id: "nobody" })).toMatchObject({ proc_id: "nobody", status: "not_found" });
});

test("calls for an unknown process are answered with unknown_proc", async () => {
  await using host = await startProc();
  const proc_id = "nobody";
  const { api } = host;

  for (const asking of [
    api.write({ proc_id, data: "x" }),
    api.kill({ proc_id }),
    api.read({ proc_id }),
    api.resize({ proc_id, cols: 1, rows: 1 }),
    api.detach({ proc_id }),
    api.attach({ proc_id }),
  ])
    await expect(asking).rejects.toMatchObject({ code: "unknown_proc", message: expect.stringContaining("not found") });
});

test("the number of running processes is limited per session and per host", async () => {
  await using host = await startProc({ max_procs: 2, max_procs_total: 3 });
  const spawn = { cmd: ["sleep", "60"] };
  const [first] = await Promise.all([host.api.spawn(spawn), host.api.spawn(spawn)]);
  const other = await host.connect({ agentId: "other" });

  await expect(host.api.spawn(spawn)).rejects.toMatchObject({
    code: "proc_limit",
    detail: { limit: "max_procs", max: 2 },
  });
  expect((await other.proc.spawn(spawn)).ok).toBe(true);
  await expect(other.proc.spawn(spawn)).rejects.toMatchObject({
    code: "proc_limit",
    detail: { limit: "max_procs_total" },
  });
  await host.api.kill({ proc_id: first.proc_id, signal: "SIGKILL" });
  expect((await host.api.spawn(spawn)).ok).toBe(true);
});
