// Outputs too large for a message: kept in the host's database, answered as references, read page by page.
import type { Database, SqlStatement } from "../../../host/database.ts";
import type { JsonValue } from "../../../protocol/json.ts";

export type OutputReference = { $ref: "chain/output"; run_id: string; node_id: string; bytes: number };

const migrations = [
  `CREATE TABLE chain_output (id INTEGER PRIMARY KEY, session TEXT NOT NULL, run TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL, bytes INTEGER NOT NULL, created_at REAL NOT NULL) STRICT;
   CREATE UNIQUE INDEX chain_output_place ON chain_output (session, run, node);`,
];

export interface OutputStore {
  put(run_id: string, node_id: string, output: JsonValue): OutputReference;
  /** The JSON text, or undefined. */
  get(run_id: string, node_id: string): string | undefined;
}

export interface OutputStores {
  of(sessionId: string): OutputStore;
}

interface OutputStoreOptions {
  maxKeptBytes: number;
  keptDays: number;
  now(): number;
}

export function openOutputStores(database: Database, options: OutputStoreOptions): OutputStores {
  database.migrate("chains", migrations);
  const sql = {
    put: database.prepare(
      "INSERT INTO chain_output (session, run, node, text, bytes, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session, run, node) DO UPDATE SET text = excluded.text, bytes = excluded.bytes",
    ),
    get: database.prepare("SELECT text FROM chain_output WHERE session = ? AND run = ? AND node = ?"),
    sizes: database.prepare("SELECT id, bytes FROM chain_output WHERE session = ? ORDER BY id DESC"),
    drop: database.prepare("DELETE FROM chain_output WHERE session = ? AND id <= ?"),
    expire: database.prepare("DELETE FROM chain_output WHERE created_at < ?"),
  } satisfies Record<string, SqlStatement>;
  database.write(() => sql.expire.run(options.now() - options.keptDays * 24 * 60 * 60 * 1000));

  const makeRoom = (session: string) => {
    let left = options.maxKeptBytes;
    for (const { id, bytes } of sql.sizes.all(session)) {
      left -= Number(bytes);
      if (left < 0) return void sql.drop.run(session, Number(id));
    }
  };

  return {
    of: (session) => ({
      put(run_id, node_id, output) {
        const text = JSON.stringify(output);
        const bytes = Buffer.byteLength(text);
        database.write(() => {
          sql.put.run(session, run_id, node_id, text, bytes, options.now());
          makeRoom(session);
        });
        return { $ref: "chain/output", run_id, node_id, bytes };
      },
      get(run_id, node_id) {
        const row = sql.get.get(session, run_id, node_id);
        return row === undefined ? undefined : String(row.text);
      },
    }),
  };
}

/** One page of a text, cut between characters. */
export function toPage(text: string, offset: number, limit: number): { text: string; next: number | null } {
  let end = Math.min(text.length, offset + limit);
  const last = text.charCodeAt(end - 1);
  if (end < text.length && last >= 0xd800 && last < 0xdc00) end += 1;
  return { text: text.slice(offset, end), next: end < text.length ? end : null };
}
