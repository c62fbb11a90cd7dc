import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { core } from "../../../../protocol/core.ts";
import { watchResources } from "../../../../testing/leaks.ts";
import { toolkitLimits } from "../../limits.ts";
import { makeDatabase, query, type SqliteHost, startSqlite } from "./start-sqlite.suite.ts";

let reader: SqliteHost;
beforeAll(async () => {
  reader = await startSqlite({ timeout_ms: 3000, memory_mb: 32 });
  mkdirSync(reader.workspaceDir, { recursive: true });
  makeDatabase(join(reader.workspaceDir, "people.db"));
  expect(await reader.configure("sqlite", { path: "people.db" })).toMatchObject({ status: "ok" });
});
afterAll(() => reader.close());

test("a query returns columns and rows, with parameters by order and by name", async () => {
  expect(await query(reader, "SELECT id, name FROM person ORDER BY id")).toEqual({
    columns: ["id", "name"],
    rows: [
      [1, "Ada"],
      [2, "Grace"],
      [3, "Edsger"],
    ],
    changes: 0,
  });
  expect(await query(reader, "SELECT name FROM person WHERE id = ?", { parameters: [2] })).toMatchObject({
    rows: [["Grace"]],
  });
  expect(await query(reader, "SELECT name FROM person WHERE id = :id", { parameters: { id: 3 } })).toMatchObject({
    rows: [["Edsger"]],
  });
});

test("every type of value has a JSON form, and columns with the same name are all returned", async () => {
  const sql = "SELECT 1 AS a, 2 AS a, 9223372036854775807, x'00ff', NULL, 1.5, 9e999, json('[1]'), 'ünï'";
  expect(await query(reader, sql)).toMatchObject({
    columns: ["a", "a", "9223372036854775807", "x'00ff'", "NULL", "1.5", "9e999", "json('[1]')", expect.any(String)],
    rows: [[1, 2, "9223372036854775807", { base64: "AP8=" }, null, 1.5, "Infinity", "[1]", expect.any(String)]],
  });
  const given = { parameters: [{ base64: "AQI=" }, true, null, [1, { a: 2 }]] };
  expect(await query(reader, "SELECT ?, ?, ?, ?", given)).toMatchObject({
    rows: [[{ base64: "AQI=" }, 1, null, '[1,{"a":2}]']],
  });
});

test("text that would be cut at a NUL character is rejected, and can be sent as bytes", async () => {
  for (const [sql, parameters] of [
    ["SELECT ?", ["before\0after"]],
    ["SELECT :text", { text: "before\0after" }],
  ] as const)
    await expect(query(reader, sql, { parameters })).rejects.toMatchObject({
      message: expect.stringContaining("NUL"),
    });
  await expect(query(reader, "SELECT 1 \0 AS one")).rejects.toMatchObject({ message: expect.stringContaining("NUL") });
  expect(
    await query(reader, "SELECT CAST(CAST(? AS TEXT) AS BLOB)", { parameters: [{ base64: "YQBi" }] }),
  ).toMatchObject({ rows: [[{ base64: "YQBi" }]] });
});

test("the schema lists tables, views and indexes with columns", async () => {
  const { objects } = (await reader.call("sqlite__schema")) as { objects: { name: string }[] };
  expect(objects.map(({ name }) => name).sort()).toEqual(["by_name", "names", "person"]);
  expect(objects.find(({ name }) => name === "person")).toMatchObject({
    type: "table",
    sql: expect.stringContaining("CREATE TABLE person"),
    columns: [
      { name: "id", type: "INTEGER", primary_key: 1 },
      { name: "name", type: "TEXT", not_null: 1 },
    ],
  });
  expect(await reader.call("sqlite__schema", { table: "nothing" })).toEqual({ objects: [] });
});

test("rows beyond the limit are left out, and the result is marked as truncated", async () => {
  const { data } = await reader.client.tools.call({
    tool_name: "sqlite__query",
    arguments: { sql: "SELECT name FROM person", max_rows: 2 },
  });
  expect(data).toMatchObject({ truncated: true, data: { rows: [["Ada"], ["Grace"]] } });
  const large = "SELECT printf('%.*c', 400000, 'x') FROM person";
  const wide = await reader.client.tools.call({ tool_name: "sqlite__query", arguments: { sql: large } });
  expect(wide.data.truncated).toBe(true);
  expect((wide.data.data as { rows: unknown[] }).rows).toHaveLength(1);
});

test.each([
  "INSERT INTO person (name) VALUES ('x')",
  "UPDATE person SET name = 'x'",
  "DELETE FROM person",
  "DROP TABLE person",
  "CREATE TABLE x (a)",
  "PRAGMA user_version = 5",
  "PRAGMA journal_mode = DELETE",
  "PRAGMA query_only = OFF",
  "PRAGMA writable_schema = ON",
  "PRAGMA hard_heap_limit = 0",
  "PRAGMA temp_store_directory = '/tmp'",
  "PRAGMA database_list",
  "VACUUM",
  "ATTACH 'other.db' AS other",
  "ATTACH ':memory:' AS other",
  "SELECT load_extension('/tmp/x.so')",
  "SELECT writefile('/tmp/x', 'y')",
  "SELECT readfile('/etc/passwd')",
  "SELECT edit('x')",
  "SELECT fts3_tokenizer('simple')",
  "SELECT * FROM pragma_database_list",
  "SELECT * FROM fsdir('/')",
  "CREATE VIRTUAL TABLE temp.x USING csv(filename='/etc/passwd')",
  "SELECT 1; SELECT 2",
  "SELECT 1; DELETE FROM person",
  "SELEC 1",
  "",
  "   ",
  "-- nothing",
])("%j is rejected, and the database stays unchanged", async (sql) => {
  await expect(query(reader, sql)).rejects.toMatchObject({
    code: expect.stringMatching(/tool_error|schema_violation/),
  });
  expect(await query(reader, "SELECT count(*) FROM person")).toMatchObject({ rows: [[3]] });
  expect(existsSync(join(reader.workspaceDir, "other.db"))).toBe(false);
});

test.each([
  ["PRAGMA database_list", "PRAGMA database_list is not allowed; table_list, table_info"],
  ["ATTACH 'other.db' AS other", "ATTACH, DETACH and VACUUM are not allowed"],
  ["SELECT load_extension('/tmp/x.so')", "the function load_extension is not allowed"],
  ["BEGIN", "each statement is a transaction of its own"],
  ["COMMIT", "each statement is a transaction of its own"],
])("%s is rejected with a reason", async (sql, reason) => {
  await expect(query(reader, sql)).rejects.toThrow(reason);
});

test("a statement that is too long is rejected before it is parsed", async () => {
  const sql = `SELECT 1 -- ${"x".repeat(toolkitLimits.sqliteMaxSqlLength)}`;
  await expect(query(reader, sql)).rejects.toMatchObject({ code: "schema_violation" });
});

test("a view whose table was dropped does not hide the rest of the schema", async () => {
  await using host = await startSqlite();
  mkdirSync(host.workspaceDir, { recursive: true });
  makeDatabase(
    join(host.workspaceDir, "broken.db"),
    "CREATE TABLE kept (a); CREATE TABLE gone (b); CREATE VIEW broken AS SELECT b FROM gone; DROP TABLE gone;",
  );
  await host.configure("sqlite", { path: "broken.db" });
  expect(await host.call("sqlite__schema")).toMatchObject({
    objects: [{ name: "broken" }, { name: "kept", columns: [{ name: "a" }] }],
  });
});

test("VACUUM INTO writes no file", async () => {
  const target = join(reader.folder, "stolen.db");
  await expect(query(reader, `VACUUM INTO '${target}'`)).rejects.toMatchObject({ code: "tool_error" });
  expect(existsSync(target)).toBe(false);
});

test("a comment may follow a statement, and strings may contain semicolons", async () => {
  expect(await query(reader, `SELECT ';', "a;b" FROM (SELECT 1 AS [a;b]) -- ; x`)).toMatchObject({ rows: [[";", 1]] });
  expect(await query(reader, "SELECT 1; -- that is all\n /* really */ ;")).toMatchObject({ rows: [[1]] });
});

const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

test("an endless query is ended at its timeout without blocking the host, and the next query works", async () => {
  const { call, client, kits } = reader;
  await kits.install({ toolkit_name: "sqlite", alias: "short", config: { path: "people.db", timeout_ms: 300 } });
  const waiting = expect(call("short__query", { sql: endless })).rejects.toMatchObject({ code: "timeout" });
  let isOver = false;
  void waiting.finally(() => {
    isOver = true;
  });
  let answered = 0;
  // With a turn of the event loop in between: a ping in this process is answered within one turn.
  for (; !isOver; answered++) {
    await client.use(core).ping();
    await nextTurn();
  }
  await waiting;
  expect(answered).toBeGreaterThan(10);
  // On a busy machine even this query may take longer than the timeout.
  const next = () => call("short__query", { sql: "SELECT 1" }).catch(({ code }: { code: string }) => code);
  await expect.poll(next).toMatchObject({ rows: [[1]] });
});

test("a cancelled query is ended", async () => {
  const call = reader.client.tools.call({ tool_name: "sqlite__query", arguments: { sql: endless }, timeout: 0.2 });
  await expect(call).rejects.toMatchObject({ code: "timeout" });
  expect(await query(reader, "SELECT 1")).toMatchObject({ rows: [[1]] });
});

test.each([
  "SELECT hex(zeroblob(2000000000))",
  "SELECT length(printf('%.*c', 1500000000, 'x') || zeroblob(1500000000))",
  "WITH RECURSIVE c(x) AS (SELECT randomblob(1000000) UNION ALL SELECT randomblob(1000000) FROM c) SELECT count(DISTINCT x) FROM c",
  "SELECT group_concat(hex(randomblob(100000))) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x FROM c)",
])("a query that would exhaust the memory fails alone: %s", async (sql) => {
  await expect(query(reader, sql)).rejects.toMatchObject({
    code: expect.stringMatching(/out_of_memory|tool_error|timeout|sandbox_crash/),
  });
  expect(await query(reader, "SELECT 1")).toMatchObject({ rows: [[1]] });
});

test("writing needs both the config and the permission of the operator", async () => {
  await expect(
    reader.kits.install({ toolkit_name: "sqlite", alias: "w", config: { path: "people.db", writable: true } }),
  ).resolves.toMatchObject({ status: "partial", error: expect.stringContaining("sqlite.allow_write") });
  await using writer = await startSqlite({ allow_write: true });
  mkdirSync(writer.workspaceDir, { recursive: true });
  await writer.configure("sqlite", { path: "new.db", writable: true });

  await query(writer, "CREATE TABLE t (a)");
  expect(await query(writer, "INSERT INTO t VALUES (1), (2) RETURNING a")).toMatchObject({
    rows: [[1], [2]],
    changes: 2,
  });
  expect(await query(writer, "SELECT count(*) FROM t")).toMatchObject({ rows: [[2]], changes: 0 });
  for (const sql of [
    "ATTACH 'x.db' AS x",
    "VACUUM INTO 'x.db'",
    "PRAGMA journal_mode = OFF",
    "CREATE VIRTUAL TABLE v USING dbstat",
  ])
    await expect(query(writer, sql)).rejects.toMatchObject({ code: "tool_error" });
  await query(writer, "CREATE VIRTUAL TABLE words USING fts5(word)");
  expect(existsSync(join(writer.workspaceDir, "x.db"))).toBe(false);
});

test("closing the host ends all processes, even with a running query", async () => {
  const watch = watchResources();
  const host = await startSqlite();
  mkdirSync(host.workspaceDir, { recursive: true });
  makeDatabase(join(host.workspaceDir, "a.db"));
  await host.configure("sqlite", { path: "a.db" });
  await query(host, "SELECT 1");
  const lost = query(host, endless).catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await host.close();
  expect(await lost).toBeInstanceOf(Error);
  await watch.expectNothingLeft();
});
