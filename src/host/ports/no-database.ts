import type { Database } from "./database.ts";

/** Stands in where a host was given none: a plugin that needs one then says so when it starts. */
export const noDatabase: Database = {
  isPersistent: false,
  migrate: refuseDatabase,
  prepare: refuseDatabase,
  write: refuseDatabase,
  beforeCommit: refuseDatabase,
  afterCommit: refuseDatabase,
  async close() {},
};

function refuseDatabase(): never {
  throw new Error("this host was started without a database");
}
