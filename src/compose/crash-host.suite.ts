// A host to be killed: serves the data folder it is given, on the port it is given, and says when it is up.
import { toHostConfig } from "../config/parsing.ts";
import { startConfiguredServer } from "./configured-server.ts";

const [dataDir, port, kills] = process.argv.slice(2);
const config = toHostConfig(
  {
    data_dir: dataDir,
    server: { port: Number(port) },
    // In turns: each has to go on with what the other one left.
    persistence: { durability: Number(kills) % 2 === 0 ? "process" : "power" },
    plugins: [{ type: "env" }, { type: "memory" }, { type: "planning", metadata: { max_tasks: 100_000 } }],
    global_limits: { max_parallel_calls: 16 },
  },
  { env: {} },
);
const server = await startConfiguredServer(config);
process.send?.({ port: server.port });
process.on("disconnect", () => process.exit(1));
