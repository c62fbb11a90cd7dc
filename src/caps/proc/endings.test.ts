import { constants } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { linux, testWith } from "../../testing/needs.suite.ts";
import { dataOf, isAlive, startProc, whenGone } from "./proc-host.suite.ts";

/** A script that prints the ids of a child and a grandchild; all of them sleep. */
const family = "sleep 300 & echo $!; sh -c 'sleep 300 & echo $!; wait' & wait";

async function pidsFrom(
  host: Awaited<ReturnType<typeof startProc>>,
  proc_id: string,
  count: number,
): Promise<number[]> {
  await host.event(() => host.textOf(proc_id).trim().split("\n").length >= count);
  return host.textOf(proc_id).trim().split("\n").map(Number);
}

test.each(["SIGTERM", "term", "15", 15, "SIGUSR1", "SIGINT", "SIGHUP", "SIGKILL", "SIGALRM"])(
  "the signal %s ends a process that does not handle it, and is reported by its name",
  async (signal) => {
    await using host = await startProc();
    const { proc_id } = await host.run(["sleep", "300"]);
    const answer = await host.api.kill({ proc_id, signal });
    const data = dataOf(await host.end(proc_id));
    const name = /^\d+$/.test(String(signal)) || signal === "term" ? "SIGTERM" : (signal as NodeJS.Signals);

    expect(answer).toMatchObject({ ok: true, proc_id, state: "stopped", status: "killed" });
    expect(data).toMatchObject({ code: -constants.signals[name as NodeJS.Signals], exit_code: null, signal: name });
    expect(host.events.at(-1)?.stream_type).toBe("killed");
    await expect(host.api.kill({ proc_id })).rejects.toMatchObject({
      code: "proc_dead",
      detail: { signal: name, exit_code: null },
    });
  },
);

testWith(linux).each(["SIGRTMIN", "rtmin+1", 35, "SIGRTMAX"])(
  "the real-time signal %s ends a process, and is reported by its name",
  async (signal) => {
    await using host = await startProc();
    const { proc_id } = await host.run(["sleep", "300"]);
    const answer = await host.api.kill({ proc_id, signal });
    const name = { SIGRTMIN: "SIGRTMIN", SIGRTMAX: "SIGRTMIN+30" }[String(signal)] ?? "SIGRTMIN+1";

    expect(answer).toMatchObject({ ok: true, state: "stopped", status: "killed" });
    expect(dataOf(await host.end(proc_id))).toMatchObject({ exit_code: null, signal: name, status: "killed" });
  },
);

testWith(linux)("a process that handles a real-time signal decides how it ends", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("trap 'exit 0' 36; echo ready; while :; do sleep 0.01; done");
  await host.event(() => host.textOf(proc_id).includes("ready"));
  await host.api.kill({ proc_id, signal: 36 });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ exit_code: 0, signal: "", status: "completed" });
});

test("a process that handles a signal decides how it ends", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh(
    "trap 'echo got usr2' USR2; trap 'exit 5' TERM; echo ready; while :; do sleep 0.01; done",
  );
  await host.event(() => host.textOf(proc_id).includes("ready"));
  await host.api.kill({ proc_id, signal: "USR2" });
  await host.event(() => host.textOf(proc_id).includes("got usr2"));
  await host.api.kill({ proc_id });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ code: 5, exit_code: 5, signal: "", state: "crashed" });
});

test("an unknown signal is rejected, and kill does not wait for a signal that does not end processes", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"]);

  for (const signal of ["SIGNOTHING", "0", 0, 65, -9, ""])
    await expect(host.api.kill({ proc_id, signal })).rejects.toMatchObject({ code: "schema_violation" });
  expect(await host.api.kill({ proc_id, signal: "SIGSTOP" })).toMatchObject({ ok: true, state: "running" });
  expect(await host.api.kill({ proc_id, signal: "CONT" })).toMatchObject({ ok: true, state: "running" });
});

test("the old spelling of kill is answered in the same spelling", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"]);
  const { proc } = await import("./protocol.ts");
  await host.client.rpc({ ...proc.calls.kill, type: "proc/signal/req", responseType: "proc/signal/resp" }, { proc_id });

  expect(host.wire.map(({ message }) => message.type)).toContain("proc/signal/resp");
});

test("a signal reaches the whole group", async () => {
  await using host = await startProc();
  const { proc_id, pid } = await host.sh(family);
  const pids = await pidsFrom(host, proc_id, 2);
  await host.api.kill({ proc_id, signal: "SIGKILL" });

  await whenGone(pid, ...pids);
});

test("processes that are left in the group are killed when their leader ends", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("sleep 300 >/dev/null 2>&1 & echo $!");
  const [left = 0] = await pidsFrom(host, proc_id, 1);
  const end = await host.end(proc_id);

  expect(dataOf(end).code).toBe(0);
  await whenGone(left);
});

test("a process whose output is held open by others ends, and the others are killed", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("sleep 300 & echo $!; exit 4");
  const [left = 0] = await pidsFrom(host, proc_id, 1);

  expect(dataOf(await host.end(proc_id)).code).toBe(4);
  await whenGone(left);
});

test("a process that times out gets SIGTERM, and then SIGKILL", async () => {
  await using host = await startProc({ grace_seconds: 5 });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const loop = "echo ready; while :; do sleep 0.01; done";
  const polite = await host.sh(`trap 'echo bye; exit 0' TERM; ${loop}`, { timeout: 60 });
  const stubborn = await host.sh(`trap '' TERM; ${loop}`, { timeout: 60 });
  // A shell that is not ready yet has no trap.
  for (const { proc_id } of [polite, stubborn]) await host.event(() => host.textOf(proc_id) === "ready\n");

  vi.advanceTimersByTime(60_000);
  expect(dataOf(await host.end(polite.proc_id))).toMatchObject({
    code: 0,
    status: "timeout",
    state: "timedout",
    error: "timeout",
  });
  expect(host.textOf(polite.proc_id)).toBe("ready\nbye\n");
  vi.advanceTimersByTime(5_000);
  expect(dataOf(await host.end(stubborn.proc_id))).toMatchObject({
    signal: "SIGKILL",
    exit_code: null,
    status: "timeout",
    state: "timedout",
  });
  expect(await host.api.status({ proc_id: stubborn.proc_id })).toMatchObject({ state: "timedout", error: "timeout" });
  vi.useRealTimers();
});

test("a process cannot ask for a longer timeout than the host allows", async () => {
  await using host = await startProc({ max_timeout_seconds: 0.1 });
  const { proc_id } = await host.run(["sleep", "300"], { timeout: 1000 });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ state: "timedout" });
});

test("a stopped process can time out", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"], { timeout: 0.3 });
  await host.api.kill({ proc_id, signal: "SIGSTOP" });

  expect(dataOf(await host.end(proc_id))).toMatchObject({ state: "timedout" });
});

test("a process that writes more than its limit is ended", async () => {
  await using host = await startProc({ max_output_bytes: 100_000 });
  const { proc_id } = await host.run(["cat", "/dev/zero"]);

  expect(dataOf(await host.end(proc_id))).toMatchObject({ status: "failed", state: "crashed", error: "output_limit" });
});

test("output beyond the limit is not passed on, also from a process that does not end", async () => {
  await using host = await startProc({ max_output_bytes: 100_000 });
  const { proc_id } = await host.sh("trap '' TERM; exec cat /dev/zero");
  await host.end(proc_id);

  expect(await host.api.status({ proc_id })).toMatchObject({ error: "output_limit", stdout_bytes: 100_000 });
  expect(host.textOf(proc_id)).toHaveLength(100_000);
});

test("a process that writes exactly its limit is not ended", async () => {
  await using host = await startProc({ max_output_bytes: 1000 });
  const { proc_id } = await host.run(["head", "-c", "1000", "/dev/zero"]);

  expect(dataOf(await host.end(proc_id))).toMatchObject({ code: 0, status: "completed", error: "" });
});

test.each([128, 129, 130, 137, 143, 255])("exit code %i is not reported as a signal", async (code) => {
  await using host = await startProc();
  const { proc_id } = await host.sh(`exit ${code}`);

  expect(dataOf(await host.end(proc_id))).toMatchObject({ code, exit_code: code, signal: "", status: "failed" });
});

test("a process that ends by its own signal is not reported as killed", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("kill -SEGV $$");

  expect(dataOf(await host.end(proc_id))).toMatchObject({ signal: "SIGSEGV", exit_code: null, state: "crashed" });
});

test("each of two hundred processes, ten at a time, is reported as ended once", async () => {
  await using host = await startProc({ max_procs: 50 });
  const ids = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const started = await Promise.all(Array.from({ length: 10 }, () => host.api.spawn({ cmd: ["true"] })));
    for (const { proc_id } of started) ids.add(proc_id);
    await Promise.all(started.map(({ proc_id }) => host.end(proc_id)));
  }

  const ends = host.events.filter((event) => dataOf(event).code === 0);
  expect(new Set(ends.map(({ proc_id }) => proc_id))).toEqual(ids);
  expect(ends).toHaveLength(ids.size);
  expect((await host.api.status()).procs.length).toBeLessThanOrEqual(80);
});

test("a process that closes its output and continues is running", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("exec >&- 2>&-; exec sleep 300");
  const read = await host.api.read({ proc_id, wait_ms: 50 });

  expect(read).toMatchObject({ eof: false, state: "running", chunks: [] });
  expect((await host.api.status({ proc_id })).state).toBe("running");
});

test("a process that leaves its group and session is found by its mark", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("setsid sh -c 'echo $$; exec sleep 300' & wait");
  const [escaped = 0] = await pidsFrom(host, proc_id, 1);
  expect(await isAlive(escaped)).toBe(true);
  await host.client.disconnect();

  await whenGone(escaped);
});

test("a process that left its group is also found after its parent has ended", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("setsid sh -c 'sleep 300' >/dev/null 2>&1 & echo $!; sleep 0.1");
  const [escaped = 0] = await pidsFrom(host, proc_id, 1);
  await host.end(proc_id);
  expect(await isAlive(escaped)).toBe(true);
  await host.client.disconnect();

  await whenGone(escaped);
});
