// One query against a database file, from opening to closing. Runs in a process of its own: SQLite cannot be interrupted
// from outside, and its memory limit holds for a whole process.
import { readdirSync, readlinkSync } from "node:fs";
import { constants, DatabaseSync } from "@photostructure/sqlite";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

type OpenDatabase = InstanceType<typeof DatabaseSync>;

export interface QueryJob {
  /** With all links resolved. */
  path: string;
  sql: string;
  parameters: JsonValue[] | JsonObject;
  isWritable: boolean;
  maxRows: number;
  maxBytes: number;
  maxSqlLength: number;
  memoryMb: number;
  /** How long to wait for another process that writes. */
  busyMs: number;
}

export type QueryResult = {
  columns: string[];
  rows: JsonValue[][];
  /** Rows that the statement changed. */
  changes: number;
  truncated: boolean;
};

export function runQuery(job: QueryJob): QueryResult {
  const database = new DatabaseSync(job.path, {
    readOnly: !job.isWritable,
    allowExtension: false,
    defensive: true,
    timeout: job.busyMs,
    limits: { attach: 0, length: job.memoryMb * 1024 * 1024, sqlLength: job.maxSqlLength },
  });
  try {
    // Sorting and temporary tables in memory, where they are limited, and not on the disk, where they are not.
    database.exec(`PRAGMA hard_heap_limit = ${job.memoryMb * 1024 * 1024}`);
    database.exec("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF");
    if (!job.isWritable) database.exec("PRAGMA query_only = ON");
    // Opens the file where opening the database has not.
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    checkOpened(job.path);
    const before = countChanges(database);
    database.setAuthorizer(authorize);
    const result = readRows(database, job);
    database.setAuthorizer(null);
    return { ...result, changes: countChanges(database) - before };
  } finally {
    database.close();
  }
}

/** Somebody may have put a link into the path after it was resolved: what is open must be what was meant. */
function checkOpened(path: string): void {
  if (process.platform !== "linux") return;
  const open = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  if (!open.includes(path)) throw new Error("the path of the database changed while it was opened");
}

function countChanges(database: OpenDatabase): number {
  return Number((database.prepare("SELECT total_changes() AS count").get() as { count: number }).count);
}

function readRows(database: OpenDatabase, { sql, parameters, maxRows, maxBytes }: QueryJob) {
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
    room -= JSON.stringify(cells).length;
    truncated = rows.length >= maxRows || room < 0;
    if (truncated) break;
    rows.push(cells);
  }
  return { columns, rows, truncated };
}

const sqlToken =
  /'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`(?:[^`]|``)*`?|\[[^\]]*\]?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|;|[^'"`[;/-]+|./g;

/** Only the first statement would run, and whoever wrote the second should know. A trigger has statements within it. */
function hasSecondStatement(sql: string): boolean {
  const isComment = (token: string) => token.startsWith("--") || token.startsWith("/*");
  const tokens = (sql.match(sqlToken) ?? []).filter((token) => !isComment(token));
  if (/^\s*create\s+(temp\s+|temporary\s+)?trigger\b/i.test(tokens.join(" "))) return false;
  return tokens.slice(tokens.indexOf(";") + 1 || tokens.length).some((token) => token !== ";" && token.trim() !== "");
}

const { SQLITE_ATTACH, SQLITE_CREATE_VTABLE, SQLITE_DENY, SQLITE_DETACH, SQLITE_FUNCTION, SQLITE_OK, SQLITE_PRAGMA } =
  constants;

/** Those that look at the schema. Others change how the host's process works, or name its files. */
const allowedPragmas = new Set([
  "table_list",
  "table_info",
  "table_xinfo",
  "index_list",
  "index_info",
  "index_xinfo",
  "foreign_key_list",
  "foreign_key_check",
  "integrity_check",
  "quick_check",
]);
const readablePragmas = new Set([
  "user_version",
  "application_id",
  "schema_version",
  "page_count",
  "page_size",
  "encoding",
]);
const deniedFunctions = new Set(["load_extension", "readfile", "writefile", "edit", "fsdir", "fts3_tokenizer"]);
const allowedModules = new Set(["fts3", "fts4", "fts5", "rtree", "json_each", "json_tree"]);

/** VACUUM INTO attaches the file that it writes, and so is refused with it. */
function authorize(action: number, first: string | null, second: string | null): number {
  const isDenied =
    action === SQLITE_ATTACH ||
    action === SQLITE_DETACH ||
    (action === SQLITE_FUNCTION && deniedFunctions.has((second ?? "").toLowerCase())) ||
    (action === SQLITE_CREATE_VTABLE && !allowedModules.has((second ?? "").toLowerCase())) ||
    (action === SQLITE_PRAGMA && !isAllowedPragma((first ?? "").toLowerCase(), second));
  return isDenied ? SQLITE_DENY : SQLITE_OK;
}

function isAllowedPragma(name: string, argument: string | null): boolean {
  return allowedPragmas.has(name) || (readablePragmas.has(name) && argument === null);
}

type SqlValue = string | number | bigint | null | Uint8Array;

function toSql(value: JsonValue): SqlValue {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && typeof value.base64 === "string") return Buffer.from(value.base64, "base64");
  return JSON.stringify(value);
}

/** Integers beyond what a number holds come as text, bytes as base64. */
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
