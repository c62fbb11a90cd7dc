// The actions that a statement may take besides reading and writing the tables of its own database.
import { constants } from "@photostructure/sqlite";

const { SQLITE_ATTACH, SQLITE_CREATE_VTABLE, SQLITE_DETACH, SQLITE_FUNCTION, SQLITE_PRAGMA, SQLITE_TRANSACTION } =
  constants;

/** Pragmas that read the schema. Other pragmas change the behaviour of the process, or reveal its files. */
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

/**
 * Why a statement may not take this action, or undefined. VACUUM INTO attaches the file that it writes, so it is
 * rejected as well.
 */
export function refuseAction(action: number, first: string | null, second: string | null): string | undefined {
  const name = (second ?? "").toLowerCase();
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return "ATTACH, DETACH and VACUUM are not allowed";
    case SQLITE_TRANSACTION:
      return "each statement is a transaction of its own: leave out BEGIN, COMMIT and ROLLBACK";
    case SQLITE_FUNCTION:
      return deniedFunctions.has(name) ? `the function ${name} is not allowed` : undefined;
    case SQLITE_CREATE_VTABLE:
      return allowedModules.has(name)
        ? undefined
        : `virtual tables of the module "${name}" are not allowed; ${[...allowedModules].join(", ")} are`;
    case SQLITE_PRAGMA:
      return isAllowedPragma((first ?? "").toLowerCase(), second)
        ? undefined
        : `PRAGMA ${first} is not allowed; ${[...allowedPragmas].join(", ")} are, and to read ${[...readablePragmas].join(", ")}`;
    default:
      return undefined;
  }
}

function isAllowedPragma(name: string, argument: string | null): boolean {
  return allowedPragmas.has(name) || (readablePragmas.has(name) && argument === null);
}
