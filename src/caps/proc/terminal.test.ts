import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { dataOf, startProc, whenGone } from "./proc-host.suite.ts";

test("a process on a terminal sees its size, resizing and the end of its input", async () => {
  await using host = await startProc();
  const script =
    "test -t 0 && test -t 1 && echo terminal; stty size; read line; stty size; echo got $line; cat; exit 6";
  const { proc_id } = await host.sh(script, { pty: true, cols: 101, rows: 31 });
  await host.event(() => host.textOf(proc_id).includes("31 101"));
  expect(await host.api.resize({ proc_id, cols: 120, rows: 40 })).toMatchObject({ ok: true });
  await host.api.write({ proc_id, data: "hello\n" });
  await host.event(() => host.textOf(proc_id).includes("got hello"));
  await host.api.write({ proc_id, eof: true });
  const end = await host.end(proc_id);

  expect(host.textOf(proc_id)).toContain("terminal\r\n");
  expect(host.textOf(proc_id)).toContain("40 120");
  expect(dataOf(end)).toMatchObject({ code: 6, exit_code: 6, state: "crashed" });
});

test("a signal ends all processes on a terminal, and is reported exactly", async () => {
  await using host = await startProc();
  const { proc_id, pid } = await host.sh("sleep 300 & echo $!; wait", { pty: true });
  await host.event(() => host.textOf(proc_id).includes("\n"));
  const child = Number.parseInt(host.textOf(proc_id), 10);
  await host.api.kill({ proc_id, signal: "SIGKILL" });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ signal: "SIGKILL", exit_code: null, status: "killed" });
  await whenGone(pid, child);
});

test("text on a terminal is not cut inside a character", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("i=0; while [ $i -lt 3000 ]; do printf '€'; i=$((i+1)); done", { pty: true });
  await host.end(proc_id);

  expect(host.textOf(proc_id)).toBe("€".repeat(3000));
});

test("all output of a program on a terminal is read, even by a host that is busy when the program ends", async () => {
  await using host = await startProc();
  const script = "stty raw; echo ready; sleep 0.1; head -c 30000 /dev/zero | tr '\\0' x; exit 7";
  const { proc_id } = await host.sh(script, { pty: true });
  await host.event(() => host.textOf(proc_id).includes("ready"));
  // Longer than the program runs, and than the system keeps unread output of a terminal.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  const end = dataOf(await host.end(proc_id));

  expect(host.textOf(proc_id).length).toBe("ready\n".length + 30_000);
  expect(end).toMatchObject({ exit_code: 7, signal: "" });
});

test("an agent that reads a terminal by its cursor gets the last output", async () => {
  await using host = await startProc({ ring_bytes: 32 * 1024 });
  const { proc_id } = await host.sh("stty raw; head -c 200000 /dev/zero | tr '\\0' x", { pty: true, events: false });
  let length = 0;
  for (let cursor = 0, eof = false; !eof; ) {
    const read = await host.api.read({ proc_id, cursor, wait_ms: 60_000 });
    length += read.missed + read.chunks.reduce((sum, { bytes }) => sum + bytes, 0);
    ({ next_cursor: cursor, eof } = read);
  }

  expect(length).toBe(200_000);
});

test("children of a program on a terminal do not outlive it", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("sleep 300 & echo $!; exit 4", { pty: true });
  const end = dataOf(await host.end(proc_id));

  expect(end).toMatchObject({ exit_code: 4 });
  await whenGone(Number.parseInt(host.textOf(proc_id), 10));
});

test.each(["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])("a program on a terminal ends by %s", async (signal) => {
  await using host = await startProc();
  const { proc_id } = await host.sh("echo ready; exec sleep 300", { pty: true });
  await host.event(() => host.textOf(proc_id).includes("ready"));
  await host.api.kill({ proc_id, signal });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ signal, exit_code: null, status: "killed" });
});

test.each([
  ["\x03", "SIGINT"],
  ["\x1c", "SIGQUIT"],
])("a typed control character reaches a program as its signal: %j", async (data, signal) => {
  await using host = await startProc();
  const { proc_id } = await host.sh("echo ready; exec sleep 300", { pty: true });
  await host.event(() => host.textOf(proc_id).includes("ready"));
  await host.api.write({ proc_id, data });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ signal, exit_code: null, status: "failed" });
});

test.each([129, 130, 143, 255])("exit code %i of a program on a terminal is not reported as a signal", async (code) => {
  await using host = await startProc();
  const { proc_id } = await host.sh(`exit ${code}`, { pty: true });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ code, exit_code: code, signal: "", status: "failed" });
});

test.each([{ BASH_VERSION: "5" }, { LANG: "C.UTF-8", LANGUAGE: "fr" }, { code: "7", a2e_code: "7" }])(
  "variables of a program on a terminal do not change how its end is reported: %j",
  async (env) => {
    await using host = await startProc();
    const { proc_id } = await host.sh("echo here; exit 143", { pty: true, env });

    expect(dataOf(await host.end(proc_id))).toMatchObject({ exit_code: 143, signal: "" });
    expect(host.textOf(proc_id)).toBe("here\r\n");
  },
);

test("a program on a terminal has its own input and no other open files, whatever its path", async () => {
  await using host = await startProc();
  const path = join(host.folder, "odd = name.sh");
  await writeFile(path, '#!/bin/sh\nls -m /proc/$$/fd; trap; read line; echo "$1 $line"\n', { mode: 0o755 });
  const { proc_id } = await host.run([path, "argument"], { pty: true });
  await host.api.write({ proc_id, data: "typed\n" });
  await host.end(proc_id);

  // The additional file is the script, with the number that its shell prefers.
  expect(host.textOf(proc_id)).toMatch(/^(?:typed\r\n)?0, 1, (?:10, 2|2, 255)\r\n(?:typed\r\n)?argument typed\r\n$/);
});

testWith(linux)("a program does not inherit the terminal of another", async () => {
  await using host = await startProc();
  const open = await host.run(["sleep", "300"], { pty: true });
  const list = "for file in /proc/$$/fd/*; do readlink $file; done";
  const others = [await host.sh(list), await host.sh(list, { pty: true })];
  for (const { proc_id } of others) await host.end(proc_id);

  for (const { proc_id } of others) {
    expect(host.textOf(proc_id)).toMatch(/\S/);
    expect(host.textOf(proc_id)).not.toContain("ptmx");
  }
  expect(await host.api.status({ proc_id: open.proc_id })).toMatchObject({ state: "running" });
});

test("a script without its interpreter is not started while there are terminals", async () => {
  await using host = await startProc();
  await writeFile(join(host.folder, "script"), "#!/no/such/interpreter\n", { mode: 0o755 });
  const terminal = await host.run(["cat"], { pty: true });
  expect(await host.api.spawn({ cmd: ["./script"] })).toMatchObject({
    ok: false,
    error: expect.stringContaining("/no/such/interpreter"),
  });
  await host.api.kill(terminal);
});

test.each([0, 1])("a shell has the configured prompt, with %i other terminals", async (others) => {
  await using host = await startProc();
  for (let other = 0; other < others; other++) await host.run(["sleep", "300"], { pty: true });
  const { proc_id } = await host.run(["sh", "-i"], { pty: true, env: { PS1: "say: " } });
  await host.event(() => host.textOf(proc_id).includes("say: "));
  await host.api.write({ proc_id, data: "exit 7\n" });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ exit_code: 7 });
});

/** The guard of the host with this mark. */
function guardOf(mark: string): number | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = pids.find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").endsWith(`\0a2e-guard\0${mark}\0`);
    } catch {
      return false;
    }
  });
  return found === undefined ? undefined : Number(found);
}

testWith(linux)("a guard that is restarted inherits no terminal", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("echo $A2E_PROC_ID; exec sleep 300", { pty: true });
  await host.event(() => host.textOf(proc_id).includes("\n"));
  const [mark = ""] = host.textOf(proc_id).split("-");
  const first = guardOf(mark);
  if (first === undefined) throw new Error("there is no guard");
  process.kill(first, "SIGKILL");

  await vi.waitFor(() => {
    const second = guardOf(mark);
    expect([undefined, first]).not.toContain(second);
    const files = readdirSync(`/proc/${second}/fd`).map((name) => readlinkSync(`/proc/${second}/fd/${name}`));
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => path.includes("ptmx"))).toEqual([]);
  });
});

test("a terminal on a host that forbids it, and resizing a process without a terminal, are rejected with the reason", async () => {
  await using host = await startProc({ pty: false });
  expect(await host.api.spawn({ cmd: ["true"], pty: true })).toMatchObject({
    ok: false,
    error: expect.stringContaining("not allowed"),
  });
  const { proc_id } = await host.run(["sleep", "60"]);

  expect(await host.api.resize({ proc_id, cols: 10, rows: 10 })).toMatchObject({
    ok: false,
    error: expect.stringContaining("pty"),
  });
});

test("if the library for terminals is missing, the answer names it", async () => {
  vi.doMock("@lydell/node-pty", () => {
    throw new Error("Cannot find package");
  });
  try {
    await using host = await startProc();
    const { ok, error } = await host.api.spawn({ cmd: ["true"], pty: true });

    expect([ok, error]).toEqual([false, expect.stringContaining("@lydell/node-pty")]);
  } finally {
    vi.doUnmock("@lydell/node-pty");
  }
});
