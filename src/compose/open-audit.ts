// Chooses the audit log that a config describes.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { A2EHostConfig } from "../config/schema.ts";
import { type AuditLog, noAudit } from "../host/ports/audit.ts";
import type { Logger } from "../plugin/logger.ts";
import type { Database } from "../plugin/ports/database.ts";
import { messageOf } from "../protocol/errors.ts";
import { HostStartError } from "./host-start-error.ts";

interface AuditParts {
  database: Database;
  /** Whether sessions outlive the process, so that this host owns the data folder. */
  isDurable: boolean;
  clock: { now(): number } | undefined;
  log: Logger;
}

/** A host that stops waits for the last answer. */
const witnessTimeoutMs = 5000;

/** The files of the log in mode `proven`. */
export function provenAuditPaths(dataDir: string): { folder: string; key: string } {
  return { folder: join(dataDir, "audit"), key: join(dataDir, "audit.key") };
}

export async function openAudit({ audit, data_dir, host_id }: A2EHostConfig, parts: AuditParts): Promise<AuditLog> {
  if (!audit.enabled) return noAudit;
  const { log } = parts;
  if (audit.mode === "best_effort") {
    const { createAuditFile } = await import("../stores/files/audit-file.ts");
    return createAuditFile({ path: audit.path, maxBytes: audit.max_bytes, maxBackups: audit.backup_count, log });
  }
  if (!parts.isDurable)
    throw new HostStartError(
      "audit.mode: proven needs a host that keeps its sessions: run it with `serve` and persistence.enabled",
    );
  try {
    return await openProvenAudit(audit, provenAuditPaths(data_dir), originOf(host_id), parts);
  } catch (cause) {
    throw new HostStartError(`audit: ${messageOf(cause)}`, { cause });
  }
}

async function openProvenAudit(
  { keep_entries: entries, keep_days: days, witnesses: urls }: A2EHostConfig["audit"],
  { folder, key }: { folder: string; key: string },
  origin: string,
  { database, clock, log }: AuditParts,
): Promise<AuditLog> {
  const { createProvenAuditLog } = await import("../stores/files/proven-audit-log.ts");
  const { openAuditKey } = await import("../audit/key-file.ts");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const retention = { ...(entries === undefined ? {} : { entries }), ...(days === undefined ? {} : { days }) };
  const { Witnesses } = await import("../audit/witnesses.ts");
  const { TileFolder } = await import("../audit/tiles.ts");
  const witnesses = new Witnesses({ urls, folder: new TileFolder(folder), log, timeoutMs: witnessTimeoutMs });
  const audit = createProvenAuditLog({
    database,
    path: folder,
    key: openAuditKey(key, origin),
    clock: () => clock?.now() ?? Date.now(),
    log,
    retention,
    onCheckpoint: (note, size) => witnesses.submit(note, size),
  });
  return { ...audit, close: () => audit.close().then(() => witnesses.close()) };
}

/** The name of the log in its checkpoints. The name of a key has no spaces and no "+". */
function originOf(hostId: string): string {
  return `a2e/${hostId.replace(/[\s+]+/gu, "-")}`;
}
