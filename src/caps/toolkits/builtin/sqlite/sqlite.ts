import { constants } from "node:fs";
import { z } from "zod";
import type { CallContext } from "../../../../plugin/call-context.ts";
import { A2EError } from "../../../../protocol/errors.ts";
import { jsonValue } from "../../../../protocol/json.ts";
import { defineToolkit, type Running, type Toolkit, toolkitOutput } from "../../define-toolkit.ts";
import { toolkitLimits } from "../../limits.ts";
import type { AllowedFolders, ConfinedPlace } from "../allowed-folders.ts";
import type { SqliteProcesses } from "./sqlite-processes.ts";
import type { QueryJob } from "./sqlite-query.ts";

interface SqliteToolkitOptions {
  allowWrite: boolean;
  maxRows: number;
  timeoutMs: number;
}

export function sqliteToolkit(
  allowed: AllowedFolders,
  processes: SqliteProcesses,
  { allowWrite, maxRows, timeoutMs }: SqliteToolkitOptions,
): Toolkit {
  const config = z.object({
    path: z.string().min(1).max(4096).describe("The file, in the workspace or in a folder that the operator allows."),
    writable: z
      .boolean()
      .default(false)
      .describe("Allows statements to change the database, if the operator allows it."),
    // Without a default, so that the current limit of the operator is not stored with the config.
    timeout_ms: z.int().min(1).max(timeoutMs).optional().describe("Time of one query."),
  });
  type Open = Running<z.output<typeof config>, ConfinedPlace>;

  const run = async (
    { config, resource }: Open,
    query: Pick<QueryJob, "sql" | "parameters" | "maxRows">,
    { session, signal }: CallContext,
  ) => {
    const path = await resource.realPath();
    const job = { ...query, path, isWritable: config.writable, maxBytes: toolkitLimits.sqliteMaxBytes };
    return processes.run(job, { owner: session.id, timeoutMs: config.timeout_ms ?? timeoutMs, signal });
  };

  return defineToolkit({
    name: "sqlite",
    description: "A SQLite database file: its schema, and queries in SQL.",
    category: "data",
    tags: ["sql", "data"],
    config,

    async start({ path, writable }) {
      if (writable && !allowWrite)
        throw new A2EError("forbidden", "the operator of this host does not allow writing (sqlite.allow_write)");
      const place = await allowed.find(path, { write: writable });
      const { O_CREAT, O_RDONLY, O_RDWR } = constants;
      const file = await place.openFile([], writable ? O_RDWR | O_CREAT : O_RDONLY);
      await file.close();
      return place;
    },

    tools: {
      query: {
        description:
          "Runs one SQL statement and returns columns and rows. Bytes are { base64 }. Text is shown up to its first NUL character; CAST(x AS BLOB) shows all of it.",
        tags: ["sql", "data"],
        input: z.object({
          sql: z.string().min(1).max(toolkitLimits.sqliteMaxSqlLength),
          parameters: z
            .union([z.array(jsonValue), z.record(z.string(), jsonValue)])
            .default([])
            .describe("Values for ?, in order, or for :name, by name."),
          max_rows: z.int().min(1).max(maxRows).default(Math.min(100, maxRows)),
        }),
        async run({ sql, parameters, max_rows }, toolkit, context) {
          const { truncated, ...data } = await run(toolkit, { sql, parameters, maxRows: max_rows }, context);
          return toolkitOutput({ data, truncated });
        },
      },
      schema: {
        description: "Lists tables, views, indexes and triggers with their SQL, and the columns of each table.",
        tags: ["sql", "data"],
        idempotent: true,
        input: z.object({
          table: z.string().max(1024).optional().describe("Only this table and its indexes and triggers."),
        }),
        async run({ table }, toolkit, context) {
          const read = (mustBeWhole: boolean) => {
            const parameters = [table ?? null, mustBeWhole];
            return run(toolkit, { sql: schemaSql, parameters, maxRows: toolkitLimits.sqliteMaxObjects }, context);
          };
          const { rows, truncated } = await read(true).catch((error: unknown) => {
            if (error instanceof A2EError) throw error;
            // The columns of a view whose table was dropped cannot be read, which fails the whole query.
            return read(false);
          });
          const objects = rows.map(([type, name, table_name, sql, columns]) => ({
            type: type ?? "",
            name: name ?? "",
            table: table_name ?? "",
            sql: sql ?? "",
            ...(typeof columns === "string" ? { columns: JSON.parse(columns) } : {}),
          }));
          return toolkitOutput({ data: { objects }, truncated });
        },
      },
    },
  });
}

const schemaSql = `
  SELECT type, name, tbl_name, sql,
    CASE WHEN (type IN ('table', 'view') AND ?2) OR (type = 'table' AND sql NOT LIKE 'create virtual %') THEN (
      SELECT json_group_array(json_object('name', c.name, 'type', c.type, 'not_null', c."notnull", 'primary_key', c.pk))
      FROM pragma_table_info(s.name) AS c
    ) END
  FROM sqlite_schema AS s
  WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (?1 IS NULL OR tbl_name = ?1)
  ORDER BY tbl_name, type DESC, name`;
