// The ports of a host, wrapped so that their results for a session go through its tape. Code that runs outside of any
// session uses them directly.
import { createHash } from "node:crypto";
import type { SnapshotStore } from "../host/ports/snapshot-store.ts";
import type { Database, SqlRow, SqlStatement, SqlValue } from "../plugin/ports/database.ts";
import type { CatalogueTool } from "../plugin/tool-catalogue.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Scopes, Tape } from "./tape.ts";

export function recordTool(tool: CatalogueTool, scopes: Scopes): CatalogueTool {
  const isOutside = tool.isOutside === true;
  return {
    ...tool,
    check(args) {
      const scope = scopes.getStore();
      return scope === undefined || !isOutside ? tool.check(args) : checkOutside(tool, args, scope.tape);
    },
    run(args, context) {
      const scope = scopes.getStore();
      if (scope === undefined) return tool.run(args, context);
      return scope.tape.effect(isOutside ? "outside" : "tool", (watched) => tool.run(args, watched), context);
    },
  };
}

/**
 * The code that checks the arguments does not exist in a replay. Most checks accept the arguments unchanged, and then
 * nothing is recorded.
 */
function checkOutside(tool: CatalogueTool, args: JsonObject, tape: Tape): ReturnType<CatalogueTool["check"]> {
  const checked = tape.value("check", () => {
    const outcome = tool.check(args);
    return "value" in outcome && outcome.value === args ? undefined : outcome;
  });
  return checked ?? { value: args };
}

export function recordSnapshots(store: SnapshotStore, scopes: Scopes): SnapshotStore {
  const effect = <Result>(run: () => Promise<Result>): Promise<Result> =>
    scopes.getStore()?.tape.effect("store", run) ?? run();
  return {
    save: (key, state, about) => effect(() => store.save(key, state, about)),
    load: (key, snapshotId) => effect(() => store.load(key, snapshotId)),
    list: (key) => effect(() => store.list(key)),
    delete: (key, snapshotId) => effect(() => store.delete(key, snapshotId)),
    close: () => store.close(),
  };
}

/**
 * Results are found by statement and values, not by order: lookups that other sessions made for this session, such as
 * whether they may see a change, are missing in a replay.
 */
export function recordDatabase(database: Database, scopes: Scopes): Database {
  return {
    isPersistent: database.isPersistent,
    migrate: (component, migrations) => database.migrate(component, migrations),
    prepare: (sql) => recordStatement(sql, database, scopes),
    write: (work) => database.write(work),
    beforeCommit: (callback) => database.beforeCommit(callback),
    afterCommit: (callback) => database.afterCommit(callback),
    close: () => database.close(),
  };
}

function recordStatement(sql: string, database: Database, scopes: Scopes): SqlStatement {
  // Prepared when it is run: in a replay its table may not be there, and is not needed.
  let prepared: SqlStatement | undefined;
  const statement = (): SqlStatement => {
    prepared ??= database.prepare(sql);
    return prepared;
  };
  const recorded = <Result>(values: SqlValue[], read: () => Result): Result => {
    const scope = scopes.getStore();
    if (scope === undefined) return read();
    return unpack(scope.tape.value(`sql ${digest(sql, values)}`, () => pack(read()))) as Result;
  };
  return {
    run: (...values) => recorded(values, () => statement().run(...values)),
    get: (...values) => recorded(values, () => statement().get(...values)),
    all: (...values) => recorded(values, () => statement().all(...values)),
  };
}

function digest(sql: string, values: readonly SqlValue[]): string {
  const text = JSON.stringify([sql, ...values.map(packCell)]);
  return createHash("sha1").update(text).digest("base64url");
}

/** Cells of a row are never objects, so these objects stand for values without a JSON form. */
type PackedCell = { bytes: string } | { integer: string };

function packCell(cell: unknown): unknown {
  if (typeof cell === "bigint") return { integer: String(cell) };
  if (cell instanceof Uint8Array)
    return { bytes: Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength).toString("base64") };
  return cell;
}

function unpackCell(cell: unknown): unknown {
  if (typeof cell !== "object" || cell === null || cell instanceof Uint8Array) return cell;
  const packed = cell as PackedCell;
  return "integer" in packed ? BigInt(packed.integer) : new Uint8Array(Buffer.from(packed.bytes, "base64"));
}

const pack = (result: unknown) => mapCells(result, packCell);
const unpack = (result: unknown) => mapCells(result, unpackCell);

function mapCells(result: unknown, convert: (cell: unknown) => unknown): unknown {
  if (result === undefined) return undefined;
  if (Array.isArray(result)) return result.map((row) => mapRow(row as SqlRow, convert));
  return mapRow(result as SqlRow, convert);
}

function mapRow(row: SqlRow, convert: (cell: unknown) => unknown): SqlRow {
  const mapped: SqlRow = {};
  for (const name in row) mapped[name] = convert(row[name]);
  return mapped;
}
