// The least a memory can be: a table, an FTS5 index and prepared statements, on the library that the host uses.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite } from "../../src/stores/sqlite/sqlite.ts";

export interface BareMemory {
  /** A table and its index. */
  createSpace(): BareSpace;
  close(): Promise<void>;
}

export interface BareSpace {
  /** All in one transaction. */
  store(entries: readonly { key: string; content: string }[]): void;
  /** The best of those that have one of the words. */
  query(words: readonly string[], limit: number): Record<string, unknown>[];
}

export async function openBareMemory(): Promise<BareMemory> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-bench-"));
  const sqlite = await openSqlite({ path: join(folder, "bare.sqlite"), migrations: [] });
  // As the host's database commits; it syncs later, beside the host.
  sqlite.exec("PRAGMA synchronous = NORMAL");
  let spaces = 0;
  return {
    createSpace() {
      spaces += 1;
      const [entry, text] = [`entry_${spaces}`, `text_${spaces}`];
      sqlite.exec(`CREATE TABLE ${entry} (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, created_at REAL NOT NULL) STRICT;
        CREATE VIRTUAL TABLE ${text} USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2')`);
      const insertEntry = sqlite.prepare(`INSERT INTO ${entry} (key, content, created_at) VALUES (?, ?, ?)`);
      const insertText = sqlite.prepare(`INSERT INTO ${text} (rowid, text) VALUES (?, ?)`);
      const best = sqlite.prepare(
        `SELECT e.key, e.content, t.rank FROM ${text} t JOIN ${entry} e ON e.id = t.rowid WHERE t.${text} MATCH ? ORDER BY t.rank LIMIT ?`,
      );
      return {
        store(entries) {
          const now = Date.now() / 1000;
          sqlite.exec("BEGIN");
          for (const { key, content } of entries) {
            const { lastInsertRowid } = insertEntry.run(key, JSON.stringify(content), now);
            insertText.run(lastInsertRowid, `${key}\n${content}`);
          }
          sqlite.exec("COMMIT");
        },
        query: (words, limit) => best.all(words.map((word) => `"${word}"`).join(" OR "), limit),
      };
    },
    async close() {
      sqlite.close();
      await rm(folder, { recursive: true });
    },
  };
}
