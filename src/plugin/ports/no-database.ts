import type { Database } from "./database.ts";

/** The default for a host without a database: a plugin that needs a database fails when it starts. */
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
