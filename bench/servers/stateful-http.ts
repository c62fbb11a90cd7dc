// Our host behind its HTTP door with plugins that keep state. Arguments: its storage and, for one that is to be found
// again after a crash, its folder.
import { envPlugin } from "../../src/caps/env/plugin.ts";
import { memoryPlugin } from "../../src/caps/memory/plugin.ts";
import { startServer } from "../../src/server/http-server.ts";
import type { AuditedHostOptions } from "./audited-host.ts";
import { startEchoHost } from "./echo-host.ts";

const [storage, folder] = process.argv.slice(2);
const { host, close } = await startEchoHost({
  plugins: [envPlugin(), memoryPlugin()],
  storage: storage as NonNullable<AuditedHostOptions["storage"]>,
  ...(folder === undefined ? {} : { folder }),
});
const server = await startServer(host, { port: 0 });

process.on("disconnect", async () => {
  await close();
  await server.close();
  process.exit();
});
process.send?.({ port: server.port });
