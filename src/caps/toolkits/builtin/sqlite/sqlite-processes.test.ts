import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { silentLogger } from "../../../../plugin/logger.ts";
import { useTemporaryFolder } from "../../../../stores/temporary-folder.suite.ts";
import { linux, testWith } from "../../../../testing/needs.suite.ts";
import { toolkitLimits } from "../../limits.ts";
import { SqliteProcesses } from "./sqlite-processes.ts";
import { makeDatabase } from "./start-sqlite.suite.ts";

const newFolder = useTemporaryFolder();

function makeEmptyDatabase(): string {
  const path = join(newFolder(), "a.db");
  makeDatabase(path, "CREATE TABLE t (a)");
  return path;
}

/** The child processes of this process, as far as the system reports them. */
function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, "utf8").split(") ")[1]?.split(" ")[1] === String(pid);
      } catch {
        return false;
      }
    })
    .map(Number);
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

testWith(linux)("an endless query ends when its host is killed", async () => {
  const path = makeEmptyDatabase();
  const sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  const code = `
    const { SqliteProcesses } = await import(${JSON.stringify(new URL("./sqlite-processes.ts", import.meta.url).href)});
    const processes = new SqliteProcesses({ size: 1, memoryMb: 32, log: console });
    const query = (sql) => processes.run(
      { path: ${JSON.stringify(path)}, sql, parameters: [], isWritable: false, maxRows: 1, maxBytes: 1000 },
      { owner: "a", timeoutMs: 600000, signal: new AbortController().signal });
    await query("SELECT 1");
    query(${JSON.stringify(sql)});
    setTimeout(() => console.log("counting"), 200);`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "--eval", code];
  const host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  await once(host.stdout, "data");
  const queries = childrenOf(host.pid ?? 0).filter((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("sqlite-process-entry"),
  );
  expect(queries).toHaveLength(1);

  host.kill("SIGKILL");
  await once(host, "exit");

  await vi.waitFor(() => expect(queries.filter(isAlive)).toEqual([]));
});

test("queries of a session with many queries do not run before those of a session with few", async () => {
  const path = makeEmptyDatabase();
  const processes = new SqliteProcesses({ size: 1, memoryMb: 32, log: silentLogger });
  const order: string[] = [];
  const { signal } = new AbortController();
  const query = async (owner: string) => {
    const job = { path, sql: "SELECT 1", parameters: [], isWritable: false, maxRows: 1, maxBytes: 1000 };
    await processes.run(job, { owner, timeoutMs: 10_000, signal });
    order.push(owner);
  };
  try {
    await Promise.all(["greedy", "greedy", "greedy", "greedy", "modest", "other"].map(query));
    expect(order).toEqual(["greedy", "modest", "greedy", "other", "greedy", "greedy"]);
  } finally {
    await processes.close();
  }
});

test("the waiting queries of a session are limited, independently of other sessions", async () => {
  const path = makeEmptyDatabase();
  const processes = new SqliteProcesses({ size: 1, memoryMb: 32, log: silentLogger });
  const query = (owner: string, { signal } = new AbortController()) =>
    processes.run(
      { path, sql: "SELECT 1", parameters: [], isWritable: false, maxRows: 1, maxBytes: 1000 },
      { owner, timeoutMs: 10_000, signal },
    );
  try {
    // One of the queries is running.
    const waiting = Array.from({ length: toolkitLimits.sqliteMaxQueued + 1 }, () => query("greedy").catch(() => {}));
    await expect(query("greedy")).rejects.toMatchObject({ code: "rate_limited", detail: { limit: "sqliteMaxQueued" } });
    expect(await query("modest")).toMatchObject({ rows: [[1]] });
    await processes.close();
    await Promise.all(waiting);
  } finally {
    await processes.close();
  }
});
