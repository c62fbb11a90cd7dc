// Outputs too large for a message: stored in the host's database, sent as references, read page by page.

import { isLargerThan } from "../../../machinery/validation/json-size.ts";
import type { Logger } from "../../../plugin/logger.ts";
import type { Database, SqlStatement } from "../../../plugin/ports/database.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import { chainLimits } from "../limits.ts";
import { outputNotKept, outputsTooLarge, outputTooLarge } from "./nodes/node-error.ts";

export type OutputReference = { $ref: "chain/output"; run_id: string; node_id: string; bytes: number };

const migrations = [
  `CREATE TABLE chain_output (id INTEGER PRIMARY KEY, session TEXT NOT NULL, run TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL, bytes INTEGER NOT NULL, created_at REAL NOT NULL) STRICT;
   CREATE UNIQUE INDEX chain_output_place ON chain_output (session, run, node);`,
];

/** Interval between two removals of expired outputs. */
const expiryMs = 60 * 60 * 1000;

export interface OutputStore {
  /**
   * Throws an A2EError for the node that made the output: too large, alone or with others of its run, or not writable.
   */
  put(run_id: string, node_id: string, output: JsonValue): OutputReference;
  /** The output as JSON text, or undefined. */
  get(run_id: string, node_id: string): string | undefined;
}

export interface OutputStores {
  /** The outputs of one session. Outputs of runs in progress are not dropped for others. */
  of(sessionId: string, isUnderWay: (runId: string) => boolean): OutputStore;
}

interface OutputStoreOptions {
  maxKeptBytes: number;
  keptDays: number;
  log: Logger;
  now(): number;
}

export function openOutputStores(database: Database, options: OutputStoreOptions): OutputStores {
  database.migrate("chains", migrations);
  const { maxKeptBytes, keptDays, log, now } = options;
  const sql = {
    put: database.prepare(
      "INSERT INTO chain_output (session, run, node, text, bytes, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session, run, node) DO UPDATE SET text = excluded.text, bytes = excluded.bytes",
    ),
    get: database.prepare("SELECT text FROM chain_output WHERE session = ? AND run = ? AND node = ?"),
    sizes: database.prepare("SELECT id, run, bytes FROM chain_output WHERE session = ? ORDER BY id"),
    drop: database.prepare("DELETE FROM chain_output WHERE id = ?"),
    expire: database.prepare("DELETE FROM chain_output WHERE created_at < ?"),
  } satisfies Record<string, SqlStatement>;

  let expiredAt = Number.NEGATIVE_INFINITY;
  const expire = () => {
    if (now() - expiredAt < expiryMs) return;
    expiredAt = now();
    sql.expire.run(expiredAt - keptDays * 24 * 60 * 60 * 1000);
  };
  database.write(expire);

  /** Drops the oldest outputs until the rest fits. Returns the size of the rest. */
  const makeRoom = (session: string, isNeeded: (runId: string) => boolean): number => {
    const rows = sql.sizes.all(session).map(({ id, run, bytes }) => ({ id, run: String(run), bytes: Number(bytes) }));
    let kept = rows.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { id, run, bytes } of rows) {
      if (kept <= maxKeptBytes) break;
      if (isNeeded(run)) continue;
      sql.drop.run(Number(id));
      kept -= bytes;
    }
    if (kept > maxKeptBytes) throw outputsTooLarge(maxKeptBytes);
    return kept;
  };

  return {
    of(session, isUnderWay) {
      /** An upper bound of the stored bytes, so that they are not summed up for each output. */
      let kept = Number.POSITIVE_INFINITY;
      return {
        put(run_id, node_id, output) {
          if (isLargerThan(output, chainLimits.maxValueBytes)) throw outputTooLarge(chainLimits.maxValueBytes);
          const text = JSON.stringify(output);
          const bytes = Buffer.byteLength(text);
          try {
            database.write(() => {
              expire();
              sql.put.run(session, run_id, node_id, text, bytes, now());
              kept += bytes;
              if (kept > maxKeptBytes) kept = makeRoom(session, (run) => run === run_id || isUnderWay(run));
            });
          } catch (error) {
            if (error instanceof A2EError) throw error;
            log.error("an output of a chain could not be stored", { error });
            throw outputNotKept(error);
          }
          return { $ref: "chain/output", run_id, node_id, bytes };
        },
        get(run_id, node_id) {
          const row = sql.get.get(session, run_id, node_id);
          return row === undefined ? undefined : String(row.text);
        },
      };
    },
  };
}

/** One page of a text, never cut inside a surrogate pair. */
export function toPage(text: string, offset: number, limit: number): { text: string; next: number | null } {
  let end = Math.min(text.length, offset + limit);
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last < 0xdc00) end += 1;
  return { text: text.slice(offset, end), next: end < text.length ? end : null };
}
