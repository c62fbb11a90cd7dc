// Tracks the use of overlays, and of agents without a name. Names that no session has used for long are removed with
// their rows: sessions may end without notice, and then no session can reach these rows any more.
import type { Database, SqlStatement } from "../../../plugin/ports/database.ts";
import { ground } from "../model.ts";

/** The names that a session uses now. */
type InUse = () => readonly string[];

export class OverlayUse {
  readonly #database: Database;
  readonly #open = new Set<InUse>();
  readonly #found: SqlStatement;
  readonly #insert: SqlStatement;
  readonly #touch: SqlStatement;
  readonly #idle: SqlStatement;
  readonly #removals: readonly SqlStatement[];

  /** The tables must exist. */
  constructor(database: Database) {
    this.#database = database;
    const sql = (text: string) => database.prepare(text);
    // Shared plans are not removed: they belong to all agents.
    this.#found = sql(
      `SELECT overlay AS name FROM planning_plan WHERE overlay <> '${ground}' UNION SELECT overlay FROM planning_frozen
       UNION SELECT owner FROM planning_plan WHERE overlay = '${ground}' AND is_shared = 0 AND owner GLOB 'session:*'`,
    );
    this.#insert = sql("INSERT OR IGNORE INTO planning_use (name, used_at) VALUES (?, ?)");
    this.#touch = sql("UPDATE planning_use SET used_at = ? WHERE name IN (SELECT value FROM json_each(?))");
    this.#idle = sql("SELECT name FROM planning_use WHERE used_at < ?");
    const ownPlans = `SELECT plan_id FROM planning_plan WHERE overlay = '${ground}' AND is_shared = 0 AND owner = ?1`;
    this.#removals = [
      ...["planning_task", "planning_history", "planning_plan"].map((table) =>
        sql(`DELETE FROM ${table} WHERE overlay = ?1 OR (overlay = '${ground}' AND plan_id IN (${ownPlans}))`),
      ),
      sql("DELETE FROM planning_frozen WHERE overlay = ?1"),
      sql("DELETE FROM planning_use WHERE name = ?1"),
    ];
  }

  /** Protects the names of a session from `collect` until the returned function is called. */
  enter(inUse: InUse): () => void {
    this.#open.add(inUse);
    return () => this.#open.delete(inUse);
  }

  /** Removes the rows of names that no session has used for `idleMs`. Times are in milliseconds. */
  collect(now: number, idleMs: number): void {
    this.#database.write(() => {
      for (const { name } of this.#found.all()) this.#insert.run(name as string, now);
      this.#touch.run(now, JSON.stringify([...this.#open].flatMap((inUse) => inUse())));
      for (const { name } of this.#idle.all(now - idleMs))
        for (const removal of this.#removals) removal.run(name as string);
    });
  }
}
