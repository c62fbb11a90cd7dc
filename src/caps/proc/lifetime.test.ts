import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createSqlJournal } from "../../durability/journal/sql-journal-store.ts";
import { core } from "../../protocol/core.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { watchResources } from "../../testing/leaks.ts";
import { dataOf, isAlive, startProc, whenGone } from "./proc-host.suite.ts";

test("the processes of a session end with it, even if they ignore signals", async () => {
  const watch = watchResources();
  await using host = await startProc();
  const polite = await host.api.spawn({ cmd: ["sleep", "300"] });
  const stubborn = await host.sh("trap '' TERM HUP INT; echo ready; while :; do sleep 0.01; done");
  await host.event(() => host.textOf(stubborn.proc_id).includes("ready"));
  await host.client.disconnect();

  await whenGone(polite.pid, stubborn.pid);
  await host.close();
  await watch.expectNothingLeft();
});

test("a process that is being started while its session ends does not outlive it", async () => {
  await using host = await startProc();
  const other = await host.connect({ agentId: "hasty" });
  const spawning = other.proc
    .spawn({ cmd: ["sh", "-c", `echo $$ > ${host.folder}/pid; exec sleep 300`] })
    .catch(() => {});
  await other.disconnect();
  await spawning;
  await new Promise((resolve) => setTimeout(resolve, 100));
  const pid = Number(await readFile(join(host.folder, "pid"), "utf8").catch(() => "0"));

  if (pid > 0) await whenGone(pid);
});

test("a cancelled call leaves no process", async () => {
  await using host = await startProc();
  const controller = new AbortController();
  const spawning = host.api.spawn({ cmd: ["sleep", "300"] }, { signal: controller.signal });
  controller.abort();
  await expect(spawning).rejects.toThrow();
  for (let left = 1; left > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    left = (await host.api.status()).procs.filter(({ state }) => state === "running").length;
  }
});

test("a detached process continues after its session, only its agent can reach it, and it ends with the host", async () => {
  const host = await startProc();
  const first = await host.connect({ agentId: "worker" });
  const { proc_id, pid } = await first.proc.spawn({ cmd: ["cat"], detached: true });
  await first.proc.write({ proc_id, data: "before\n" });
  await first.disconnect();

  const stranger = await host.connect({ agentId: "stranger" });
  expect((await stranger.proc.status()).procs).toEqual([]);
  await expect(stranger.proc.kill({ proc_id })).rejects.toMatchObject({ code: "unknown_proc" });

  const second = await host.connect({ agentId: "worker" });
  expect((await second.proc.status()).procs).toMatchObject([{ proc_id, state: "running", detached: true, pid }]);
  await second.proc.write({ proc_id, data: "after\n" });
  const read = await second.proc.read({ proc_id, cursor: 7, wait_ms: 60_000 });
  expect(read.chunks[0]?.text).toBe("after\n");
  await second.disconnect();
  expect(await isAlive(pid)).toBe(true);
  await host.close();

  await whenGone(pid);
});

test("a running process can be detached and attached to another session, which then receives its output", async () => {
  await using host = await startProc();
  const first = await host.connect({ agentId: "worker" });
  const { proc_id, pid } = await first.proc.spawn({ cmd: ["cat"] });
  await first.proc.write({ proc_id, data: "one\n" });
  await first.proc.read({ proc_id, wait_ms: 60_000 });
  expect(await first.proc.detach({ proc_id })).toEqual({ ok: true, proc_id, error: "" });
  await first.disconnect();

  const second = await host.connect({ agentId: "worker" });
  const texts: unknown[] = [];
  const arrived = new Promise<void>((resolve) => {
    second.onPush("proc/read/event", (event) => {
      texts.push(dataOf(event).text);
      if (texts.join("") === "one\ntwo\n") resolve();
    });
  });
  expect(await second.proc.attach({ proc_id, cursor: 0 })).toMatchObject({ ok: true, cursor: 0 });
  await second.proc.write({ proc_id, data: "two\n" });
  await arrived;
  await second.disconnect();

  await whenGone(pid);
});

test("the number of detached processes is limited, and a host or an agent without a name may have none", async () => {
  await using host = await startProc({ max_detached: 1 });
  const spawn = { cmd: ["sleep", "300"], detached: true };
  expect((await host.api.spawn(spawn)).ok).toBe(true);
  const { proc_id } = await host.run(["sleep", "300"]);
  await expect(host.api.detach({ proc_id })).rejects.toMatchObject({
    code: "proc_limit",
    detail: { limit: "max_detached" },
  });
  const nameless = await host.connect({ agentId: "" });
  expect(await nameless.proc.spawn(spawn)).toMatchObject({ ok: false, error: expect.stringContaining("agent_id") });
  await using strict = await startProc({ detach: false });
  expect((await strict.api.spawn(spawn)).error).toContain("not allowed");
});

test("a session that attaches processes stays within its limit", async () => {
  await using host = await startProc({ max_procs: 1 });
  const first = await host.run(["sleep", "300"]);
  await host.api.detach(first);
  const second = await host.run(["sleep", "300"]);
  const limit = { code: "proc_limit", detail: { limit: "max_procs", max: 1 } };

  await expect(host.api.attach(first)).rejects.toMatchObject(limit);
  expect(await host.api.status(first)).toMatchObject({ state: "running", detached: true });
  // A process that the session already holds needs no further place.
  expect((await host.api.attach(second)).ok).toBe(true);
  await host.api.kill({ ...second, signal: "SIGKILL" });
  await host.end(second.proc_id);
  expect((await host.api.attach(first)).ok).toBe(true);
  await expect(host.api.spawn({ cmd: ["true"] })).rejects.toMatchObject(limit);
});

test("a process that another session has attached no longer counts", async () => {
  await using host = await startProc({ max_procs: 1 });
  const { proc_id } = await host.api.spawn({ cmd: ["sleep", "300"], detached: true });
  const other = await host.connect({ agentId: "tester" });
  await other.proc.attach({ proc_id });

  expect((await host.api.spawn({ cmd: ["sleep", "300"] })).ok).toBe(true);
});

test("a process that cannot be detached as requested does not run", async () => {
  await using host = await startProc({ max_detached: 1 });
  const detached = { cmd: ["sleep", "300"], detached: true };
  const spawns = await Promise.allSettled([1, 2, 3].map(() => host.api.spawn(detached)));
  const others = spawns.filter(({ status }) => status === "rejected");

  expect(others).toHaveLength(2);
  await expect(host.api.spawn(detached)).rejects.toMatchObject({ code: "proc_limit" });
  expect((await host.api.status()).procs).toHaveLength(1);
});

test("a fork does not share the processes of its session, and may negotiate its own", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"]);
  const { session_id, capabilities } = await host.client.use(core).fork();
  const fork = await host.connect({ sessionId: session_id, agentId: "tester" });

  expect(capabilities.proc).toBe("refused");
  expect((await fork.proc.status()).procs).toEqual([]);
  expect((await fork.proc.spawn({ cmd: ["true"] })).ok).toBe(true);
  await host.client.use(core).merge({ session_id });
  expect((await host.api.status()).procs.map((one) => one.proc_id)).toEqual([proc_id]);
  expect((await host.api.status({ proc_id })).state).toBe("running");
});

test("after a restart of the host, a recovered session reports how its processes ended", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-proc-"));
  const start = async () => {
    const database = await createSqliteDatabase({ path: join(folder, "db.sqlite") });
    return startProc({}, { database, journal: createSqlJournal(database) });
  };
  try {
    const first = await start();
    const ended = await first.api.spawn({ cmd: ["sh", "-c", "exit 3"] });
    await first.end(ended.proc_id);
    const running = await first.api.spawn({ cmd: ["sleep", "300"] });
    const { sessionId } = first.client;
    // A host shutdown that keeps its sessions: the agents have not disconnected.
    await first.host.close(0);
    await first.close().catch(() => {});
    await whenGone(running.pid);

    await using second = await start();
    const client = await second.connect({ sessionId, agentId: "tester" });
    const { procs } = await client.proc.status();

    expect(procs.map(({ proc_id, status, state, exit_code }) => [proc_id, status, state, exit_code])).toEqual([
      [ended.proc_id, "failed", "crashed", 3],
      [running.proc_id, expect.stringMatching(/failed|killed/), expect.stringMatching(/crashed|stopped/), null],
    ]);
    await expect(client.proc.write({ proc_id: running.proc_id, data: "x" })).rejects.toMatchObject({
      code: "proc_dead",
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each(["none", "bubblewrap"])("nothing outlives a host that is killed: sandbox %s", async (sandbox) => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-proc-"));
  const script = fileURLToPath(new URL("./killed-host.suite.ts", import.meta.url));
  const host = spawn(process.execPath, ["--import", "tsx", script, sandbox, folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const said: string[] = [];
    for await (const chunk of host.stdout) {
      said.push(String(chunk));
      if (said.join("").includes("\n")) break;
    }
    const { groups, escaped, reason } = JSON.parse(said.join("")) as {
      groups: number[];
      escaped: number[];
      reason?: string;
    };
    if (reason !== undefined) return expect(reason).toContain("no sandbox works here");
    for (const pid of [...groups, ...escaped]) expect(await isAlive(pid)).toBe(true);
    host.kill("SIGKILL");

    await whenGone(...groups, ...escaped);
  } finally {
    host.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
});

test("a process that one session of an agent attaches from another ends with the session that holds it", async () => {
  await using host = await startProc();
  const first = await host.connect({ agentId: "worker" });
  const second = await host.connect({ agentId: "worker" });
  const { proc_id, pid } = await first.proc.spawn({ cmd: ["cat"], detached: true });
  await second.proc.attach({ proc_id });
  await first.disconnect();
  expect(await isAlive(pid)).toBe(true);
  expect(await second.proc.status({ proc_id })).toMatchObject({ state: "running", detached: false });
  await second.disconnect();

  await whenGone(pid);
});

test("the output of ended processes is limited, and the status of further ones is kept", async () => {
  await using host = await startProc();
  const ids: string[] = [];
  for (let count = 0; count < 10; count++) {
    const { proc_id } = await host.run(["head", "-c", "2000000", "/dev/zero"], { events: false });
    await host.api.read({ proc_id, cursor: 3_000_000, wait_ms: 60_000 });
    while (!(await host.api.read({ proc_id, cursor: 2_000_000, wait_ms: 1000 })).eof);
    ids.push(proc_id);
  }
  const [oldest = "", newest = ""] = [ids[0], ids.at(-1)];

  expect((await host.api.status()).procs.map(({ proc_id }) => proc_id)).toEqual(ids);
  expect((await host.api.read({ proc_id: newest })).missed).toBe(2_000_000 - 1024 * 1024);
  await expect(host.api.read({ proc_id: oldest })).rejects.toMatchObject({ code: "proc_dead" });
});

/** Starts a child that leaves its group, prints its id, and ends with its input. */
const leaving = "setsid sh -c 'echo $$; exec sleep 300 >/dev/null 2>&1' & read line";

test("descendants of a detached process end with it if its session is gone", async () => {
  await using host = await startProc();
  const first = await host.connect({ agentId: "worker" });
  const { proc_id } = await first.proc.spawn({ cmd: ["sh", "-c", leaving], detached: true });
  const escaped = Number((await first.proc.read({ proc_id, wait_ms: 60_000 })).chunks[0]?.text);
  await first.disconnect();
  expect(await isAlive(escaped)).toBe(true);
  const second = await host.connect({ agentId: "worker" });
  await second.proc.write({ proc_id, eof: true });

  await whenGone(escaped);
});

test("descendants of a process end with the session that has attached the process", async () => {
  await using host = await startProc();
  const first = await host.connect({ agentId: "worker" });
  const { proc_id } = await first.proc.spawn({ cmd: ["sh", "-c", leaving], detached: true });
  const escaped = Number((await first.proc.read({ proc_id, wait_ms: 60_000 })).chunks[0]?.text);
  const second = await host.connect({ agentId: "worker" });
  await second.proc.attach({ proc_id });
  await first.disconnect();
  expect(await isAlive(escaped)).toBe(true);
  await second.disconnect();

  await whenGone(escaped);
});
