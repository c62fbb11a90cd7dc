// Processes in the sandbox of this machine. Without one, the answer reports it, and nothing runs unconfined.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noSandboxes } from "../../plugin/ports/sandbox.ts";
import { createSandboxes } from "../../sandboxes/sandboxes.ts";
import { type Need, testWith } from "../../testing/needs.suite.ts";
import { dataOf, startProc, whenGone } from "./proc-host.suite.ts";

const sandboxes = createSandboxes();
const report = await sandboxes.report();
const bubblewrap: Need = {
  name: "bubblewrap",
  isMet: report.some(({ name, isUsable }) => name === "bubblewrap" && isUsable),
};
await sandboxes.close();

test('without a sandbox nothing runs, unless "none" is configured', async () => {
  await using host = await startProc({ sandbox: "auto" }, { sandboxes: noSandboxes });

  expect(await host.api.spawn({ cmd: ["echo"] })).toMatchObject({
    ok: false,
    error: expect.stringContaining("sandbox"),
  });
});

test("an unknown sandbox is reported in the answer", async () => {
  await using host = await startProc({ sandbox: "fortress" });

  expect((await host.api.spawn({ cmd: ["echo"] })).error).toContain('"fortress"');
});

testWith(bubblewrap)("a confined process reads, writes and ends like any other", async () => {
  await using host = await startProc({ sandbox: "auto" });
  await writeFile(join(host.folder, "file"), "content\n");
  const { proc_id } = await host.sh("cat file; echo made > made; echo err >&2; read line; echo $line; pwd; exit 9");
  await host.api.write({ proc_id, data: "input\n" });
  const end = await host.end(proc_id);

  expect((await host.api.status({ proc_id })).sandbox).toBe("bubblewrap");
  expect(host.textOf(proc_id)).toBe(`content\ninput\n${host.folder}\n`);
  expect(host.textOf(proc_id, "stderr")).toBe("err\n");
  expect(dataOf(end)).toMatchObject({ code: 9, exit_code: 9, signal: "" });
});

testWith(bubblewrap)("signals reach a confined process, and its end is reported exactly", async () => {
  await using host = await startProc({ sandbox: "auto" });
  const handled = await host.sh(
    "trap 'echo usr1' USR1; trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done",
  );
  const plain = await host.sh("echo ready; exec sleep 300");
  for (const { proc_id } of [handled, plain]) await host.event(() => host.textOf(proc_id).includes("ready"));
  await host.api.kill({ proc_id: handled.proc_id, signal: "USR1" });
  await host.event(() => host.textOf(handled.proc_id).includes("usr1"));
  await host.api.kill({ proc_id: handled.proc_id });
  await host.api.kill({ proc_id: plain.proc_id });

  expect(dataOf(await host.end(handled.proc_id))).toMatchObject({ code: 0, exit_code: 0, signal: "" });
  expect(host.textOf(handled.proc_id)).toContain("bye");
  expect(dataOf(await host.end(plain.proc_id))).toMatchObject({ exit_code: null, signal: "SIGTERM", status: "killed" });
});

testWith(bubblewrap).each([false, true])(
  "the end of a confined process is reported exactly (on a terminal: %s)",
  async (pty) => {
    await using host = await startProc({ sandbox: "auto" });
    const endOf = async (script: string) => dataOf(await host.end((await host.sh(script, { pty })).proc_id));

    for (const code of [0, 129, 137, 139, 143, 162, 255])
      expect(await endOf(`exit ${code}`)).toMatchObject({ code, exit_code: code, signal: "", error: "" });
    expect(await endOf("kill -TERM $$")).toMatchObject({ exit_code: null, signal: "SIGTERM", error: "" });
    expect(await endOf("kill -SEGV $$")).toMatchObject({ exit_code: null, signal: "SIGSEGV", error: "sandbox_crash" });
    expect(await endOf("kill -35 $$")).toMatchObject({ exit_code: null, signal: "SIGRTMIN+1", error: "" });
  },
);

testWith(bubblewrap).each([false, true])(
  "a signal is not lost while the sandbox is being set up (on a terminal: %s)",
  async (pty) => {
    await using host = await startProc({ sandbox: "auto" });
    await host.end((await host.run(["true"])).proc_id);
    for (let afterMs = 0; afterMs <= 30; afterMs += 3) {
      const { proc_id } = await host.run(["sleep", "300"], { pty });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await host.api.kill({ proc_id });
      expect(dataOf(await host.end(proc_id)), `after ${afterMs} ms`).toMatchObject({
        signal: "SIGTERM",
        status: "killed",
      });
    }
  },
);

testWith(bubblewrap)("descendants of a confined process end with it, also outside of its group", async () => {
  await using host = await startProc({ sandbox: "auto" });
  const { proc_id, pid } = await host.sh("(setsid sh -c 'trap \"\" TERM; sleep 300' &) ; echo ready; sleep 300");
  await host.event(() => host.textOf(proc_id).includes("ready"));
  const { readFile, readdir } = await import("node:fs/promises");
  const inside: number[] = [];
  for (const name of await readdir("/proc")) {
    const children = await readFile(`/proc/${name}/task/${name}/children`, "utf8").catch(() => "");
    if (Number(name) === pid || inside.includes(Number(name))) inside.push(...children.trim().split(" ").map(Number));
  }
  expect(inside.length).toBeGreaterThan(0);
  await host.api.kill({ proc_id, signal: "SIGKILL" });
  await host.end(proc_id);

  await whenGone(pid, ...inside.filter(Boolean));
});

testWith(bubblewrap)(
  "a process that uses up its memory ends with out_of_memory, and the session continues",
  async () => {
    await using host = await startProc({ sandbox: "auto", sandbox_limits: { memory_mb: 64 } });
    const { proc_id } = await host.run(["python3", "-c", "x = bytearray(600_000_000); print(len(x))"]);
    const end = dataOf(await host.end(proc_id));

    expect(end).toMatchObject({ status: "failed", state: "crashed", error: "out_of_memory" });
    expect(await host.api.status({ proc_id })).toMatchObject({ error: "out_of_memory" });
    expect((await host.api.spawn({ cmd: ["true"] })).ok).toBe(true);
  },
);

testWith(bubblewrap)("a process that uses up its processor time ends with timeout", async () => {
  await using host = await startProc({ sandbox: "auto", sandbox_limits: { cpu_seconds: 1 } });
  const { proc_id } = await host.sh("while :; do :; done");

  expect(dataOf(await host.end(proc_id))).toMatchObject({ status: "timeout", state: "timedout", error: "timeout" });
  expect((await host.api.spawn({ cmd: ["true"] })).ok).toBe(true);
});

testWith(bubblewrap)(
  "a process that fills the workspace ends with workspace_limit, and the session continues",
  async () => {
    await using host = await startProc({ sandbox: "auto", sandbox_limits: { workspace_mb: 8 } });
    const filling = "i=0; while [ $i -lt 200 ]; do head -c 1048576 /dev/zero > part$i; i=$((i + 1)); sleep 0.02; done";
    const { proc_id } = await host.sh(filling);
    expect(dataOf(await host.end(proc_id))).toMatchObject({
      status: "failed",
      state: "crashed",
      error: "workspace_limit",
    });
    const clearing = await host.sh("rm part*; ls");

    expect(dataOf(await host.end(clearing.proc_id))).toMatchObject({ code: 0, error: "" });
    expect(host.textOf(clearing.proc_id)).toBe("");
  },
);

testWith(bubblewrap)("a program or folder that is not visible in the sandbox is reported in the answer", async () => {
  await using host = await startProc({ sandbox: "auto" });

  expect(await host.api.spawn({ cmd: ["echo"], cwd: "/root" })).toMatchObject({
    ok: false,
    error: expect.stringContaining("/root"),
  });
  expect(await host.api.spawn({ cmd: ["echo"], cwd: "/tmp" })).toMatchObject({ ok: true });
});

testWith(bubblewrap)("a terminal works in a sandbox", async () => {
  await using host = await startProc({ sandbox: "auto" });
  const { proc_id } = await host.sh("test -t 1 && stty size", { pty: true, cols: 77, rows: 33 });
  await host.end(proc_id);

  expect(host.textOf(proc_id)).toContain("33 77");
});
