// Runs one query on a database file, from opening to closing. Runs in a separate process: SQLite cannot be interrupted
// from outside, and its memory limit applies to a whole process.
import { constants } from "@photostructure/sqlite";
import type { JsonObject, JsonValue } from "../../../../protocol/json.ts";
import { refuseAction } from "./sqlite-guard.ts";
import { type OpenDatabase, type OpenOptions, openDatabase } from "./sqlite-open.ts";

export interface QueryJob extends OpenOptions {
  sql: string;
  parameters: JsonValue[] | JsonObject;
  maxRows: number;
  maxBytes: number;
}

export type QueryResult = {
  columns: string[];
  rows: JsonValue[][];
  /** Rows that the statement changed. */
  changes: number;
  truncated: boolean;
};

export function runQuery(job: QueryJob): QueryResult {
  const { database, checkUnchanged } = openDatabase(job);
  try {
    const before = countChanges(database);
    const result = readAuthorized(database, job);
    return { ...result, changes: countChanges(database) - before };
  } finally {
    database.close();
    checkUnchanged();
  }
}

function countChanges(database: OpenDatabase): number {
  return Number((database.prepare("SELECT total_changes() AS count").get() as { count: number }).count);
}

/** SQLite reports only that an action was denied, so the reason is stored and thrown instead. */
function readAuthorized(database: OpenDatabase, job: QueryJob) {
  let refusal: string | undefined;
  database.setAuthorizer((action, first, second) => {
    const reason = refuseAction(action, first, second);
    refusal ??= reason;
    return reason === undefined ? constants.SQLITE_OK : constants.SQLITE_DENY;
  });
  try {
    return readRows(database, job);
  } catch (error) {
    throw refusal === undefined ? error : new Error(refusal, { cause: error });
  } finally {
    database.setAuthorizer(null);
  }
}

function readRows(database: OpenDatabase, { sql, parameters, maxRows, maxBytes }: QueryJob) {
  refuseNul(sql, "the statement");
  const statement = database.prepare(sql);
  if (hasSecondStatement(sql)) throw new Error("one statement at a time");
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const columns = statement.columns().map(({ name }: { name: unknown }) => String(name));
  const values = Array.isArray(parameters) ? parameters.map(toSql) : [mapValues(parameters, toSql)];
  const rows: JsonValue[][] = [];
  let room = maxBytes;
  let truncated = false;
  for (const row of statement.iterate(...values) as Iterable<unknown[]>) {
    const cells = row.map(toJson);
    room -= Buffer.byteLength(JSON.stringify(cells));
    truncated = rows.length >= maxRows || room < 0;
    if (truncated) break;
    rows.push(cells);
  }
  return { columns, rows, truncated };
}

const sqlToken =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^'"`[;/-]+|./g;

/**
 * Only the first statement would run, so further statements are rejected. The statements within a trigger do not count.
 */
function hasSecondStatement(sql: string): boolean {
  const isComment = (token: string) => token.startsWith("--") || token.startsWith("/*");
  const tokens = (sql.match(sqlToken) ?? []).filter((token) => !isComment(token));
  if (/^\s*create\s+(temp\s+|temporary\s+)?trigger\b/i.test(tokens.join(" "))) return false;
  return tokens.slice(tokens.indexOf(";") + 1 || tokens.length).some((token) => token !== ";" && token.trim() !== "");
}

type SqlValue = string | number | bigint | null | Uint8Array;

function toSql(value: JsonValue): SqlValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string") refuseNul(value, "a parameter");
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && typeof value.base64 === "string") return Buffer.from(value.base64, "base64");
  return JSON.stringify(value);
}

/** SQLite's binding cuts a string at its first NUL character, so such a string is rejected. */
function refuseNul(text: string, what: string): void {
  if (!text.includes("\0")) return;
  throw new Error(`${what} has a NUL character, which would end it; pass such text as CAST(? AS TEXT) with { base64 }`);
}

/** Integers that a number cannot represent become strings, bytes become base64. */
function toJson(value: unknown): JsonValue {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return (value ?? null) as JsonValue;
}

function mapValues(object: JsonObject, map: (value: JsonValue) => SqlValue): Record<string, SqlValue> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
