// A host to be killed in the middle of chains: its only tool logs each start and each completion of its work, so that a
// test can count how often each node ran.
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { chainsPlugin } from "../caps/chains/plugin.ts";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { startServer } from "../server/http-server.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";

const [folder = "", port] = process.argv.slice(2);

const work = defineTool({
  name: "work",
  description: "Does work that must not be done twice.",
  input: z.object({ ms: z.number(), v: z.number().default(0), length: z.int().default(0) }),
  async run({ ms, v, length }, { id }) {
    appendFileSync(join(folder, "work.log"), `begin ${id}\n`);
    await new Promise((resolve) => setTimeout(resolve, ms));
    appendFileSync(join(folder, "work.log"), `end ${id}\n`);
    return length === 0 ? { v } : { v, text: "x".repeat(length) };
  },
});

const database = await createSqliteDatabase({ path: join(folder, "a2e.sqlite"), durability: "process" });
const host = await A2EHost.start({
  plugins: [toolsPlugin({ builtin: false, tools: [work] }), chainsPlugin()],
  keeping: keepSessions,
  snapshots: createMemorySnapshotStore(),
  database,
  journal: createSqlJournal(database),
  dataDir: folder,
});
const server = await startServer(host, { port: Number(port) });
process.send?.({ port: server.port });
process.on("disconnect", () => process.exit(1));
