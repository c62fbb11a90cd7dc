import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test, vi } from "vitest";
import { useTemporaryFolder } from "../../../stores/temporary-folder.suite.ts";

const newFolder = useTemporaryFolder();

/** Processes that were started by this one, as far as the system tells. */
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

test.skipIf(process.platform !== "linux")(
  "a query without end does not outlive a host that is killed",
  async () => {
    const folder = newFolder();
    mkdirSync(folder, { recursive: true });
    const path = join(folder, "a.db");
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE t (a)");
    database.close();
    const sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    const code = `
    const { SqliteProcesses } = await import(${JSON.stringify(new URL("./sqlite-processes.ts", import.meta.url).href)});
    const processes = new SqliteProcesses({ size: 1, memoryMb: 32, log: console });
    const query = (sql) => processes.run(
      { path: ${JSON.stringify(path)}, sql, parameters: [], isWritable: false, maxRows: 1, maxBytes: 1000 },
      { timeoutMs: 600000, signal: new AbortController().signal });
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

    await vi.waitFor(() => expect(queries.filter(isAlive)).toEqual([]), { timeout: 10_000 });
  },
  60_000,
);
