// A host to be killed whose audit entries become durable with their turns. Serves the given data folder on the given port.
import { join } from "node:path";
import { openAuditKey } from "../audit/key-file.ts";
import { toHostConfig } from "../config/parsing.ts";
import { silentLogger } from "../plugin/logger.ts";
import { createProvenAuditLog } from "../stores/files/proven-audit-log.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { startConfiguredServer } from "./configured-server.ts";
import { provenAuditPaths } from "./open-audit.ts";

const [dataDir = "", port, kills] = process.argv.slice(2);
const config = toHostConfig(
  {
    data_dir: dataDir,
    server: { port: Number(port) },
    plugins: [{ type: "memory" }],
    global_limits: { max_parallel_calls: 16 },
  },
  { env: {} },
);
const database = await createSqliteDatabase({
  path: join(dataDir, "a2e.sqlite"),
  // Alternating: each setting has to recover data that the other wrote.
  durability: Number(kills) % 2 === 0 ? "process" : "power",
  // Small: the log of turns is folded often.
  logBytes: 256 * 1024,
});
const { folder, key } = provenAuditPaths(dataDir);
const audit = createProvenAuditLog({
  database,
  path: folder,
  key: openAuditKey(key, "killed"),
  clock: Date.now,
  log: silentLogger,
  checkpointMs: 20,
});
const server = await startConfiguredServer(config, {
  parts: { database, audit },
});
process.send?.({ port: server.port });
process.on("disconnect", () => process.exit(1));
