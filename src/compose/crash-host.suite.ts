// A host to be killed: serves the given data folder on the given port, and reports when it is up.
import { toHostConfig } from "../config/parsing.ts";
import { startConfiguredServer } from "./configured-server.ts";

const [dataDir, port, kills] = process.argv.slice(2);
const config = toHostConfig(
  {
    data_dir: dataDir,
    server: { port: Number(port) },
    // Alternating: each setting has to recover data that the other wrote.
    persistence: { durability: Number(kills) % 2 === 0 ? "process" : "power" },
    plugins: [{ type: "env" }, { type: "memory" }, { type: "planning", metadata: { max_tasks: 100_000 } }],
    global_limits: { max_parallel_calls: 16 },
  },
  { env: {} },
);
const server = await startConfiguredServer(config);
process.send?.({ port: server.port });
process.on("disconnect", () => process.exit(1));
