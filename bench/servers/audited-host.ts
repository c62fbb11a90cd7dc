// Our side of every comparison: a host with its audit log on, as it would be run.

import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqlJournal } from "../../src/durability/journal/sql-journal-store.ts";
import { keepSessions } from "../../src/durability/keep-sessions.ts";
import { A2EHost, type HostOptions } from "../../src/host/host.ts";
import type { SnapshotStore } from "../../src/host/ports/snapshot-store.ts";
import type { Plugin } from "../../src/plugin/plugin.ts";
import { noSandboxes, type Sandboxes } from "../../src/plugin/ports/sandbox.ts";
import { createAuditFile } from "../../src/stores/files/audit-file.ts";
import { createMemorySnapshotStore } from "../../src/stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../../src/stores/sqlite/sqlite-database.ts";

export interface AuditedHostOptions {
  plugins: Plugin[];
  /**
   * The database for plugins that need one: in memory, as with persistence off, or on disk. With `durable` every session
   * is written to it as well, and no answer leaves before it would survive the end of the process, as with persistence
   * on; with `power`, a power cut.
   */
  storage?: "memory" | "database" | "durable" | "power";
  /** Closed with the host. */
  sandboxes?: Sandboxes;
  /** Where the files of the host lie; a temporary folder where left out, gone when the host closes. */
  folder?: string;
  /** Who is let in, and with which rights; everyone and all of them where left out. */
  access?: Pick<HostOptions, "authenticate" | "authorize">;
}

export interface AuditedHost {
  readonly host: A2EHost;
  readonly snapshots: SnapshotStore;
  /** Closes the host; resolves with the number of audit entries about messages of this type. */
  close(type: string): Promise<number>;
}

export async function startAuditedHost(options: AuditedHostOptions): Promise<AuditedHost> {
  const { plugins, storage = "memory", sandboxes = noSandboxes, access = {} } = options;
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "a2e-bench-")));
  const path = join(folder, "audit.ndjson");
  const log = {
    warn: (message: string, details?: object) => process.stderr.write(`${message} ${JSON.stringify(details)}\n`),
  };
  const snapshots = createMemorySnapshotStore();
  const database = await createSqliteDatabase({
    path: storage === "memory" ? ":memory:" : join(folder, "a2e.sqlite"),
    durability: storage === "power" ? "power" : "process",
  });
  const isDurable = storage === "durable" || storage === "power";
  const host = await A2EHost.start({
    plugins,
    keeping: keepSessions,
    snapshots,
    snapshotMode: "host",
    // Never rotated and never dropped, so that entries can be counted in the end.
    audit: createAuditFile({ path, log, maxBytes: Number.MAX_SAFE_INTEGER, maxPendingBytes: 256 * 1024 * 1024 }),
    limits: { maxParallelCalls: 64 },
    database,
    ...(isDurable ? { journal: createSqlJournal(database) } : {}),
    sandboxes,
    ...access,
    workspaceDir: folder,
    dataDir: folder,
  });
  return {
    host,
    snapshots,
    async close(type) {
      await host.close(0);
      const entries = await countOf(`"type":${JSON.stringify(type)}`, path);
      if (options.folder === undefined) await rm(folder, { recursive: true });
      return entries;
    },
  };
}

async function countOf(needle: string, path: string): Promise<number> {
  let count = 0;
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    const bytes = Buffer.concat([rest, chunk as Buffer]);
    let end = 0;
    for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, end)) {
      count += 1;
      end = at + needle.length;
    }
    rest = bytes.subarray(Math.max(end, bytes.length - needle.length + 1));
  }
  return count;
}
