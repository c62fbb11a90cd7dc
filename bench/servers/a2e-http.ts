// Our host behind its HTTP door, with a plugin that pushes to every session when told to.
import { z } from "zod";
import { plugin, type SessionContext } from "../../src/plugin/plugin.ts";
import { capability, push } from "../../src/protocol/table/capability.ts";
import { startServer } from "../../src/server/http-server.ts";
import { startEchoHost } from "./echo-host.ts";
import { type FeedCommand, feed } from "./feed.ts";

const item = push("feed/item", {
  doc: "One item of the feed.",
  payload: z.object({ level: z.string(), text: z.string() }),
  example: { level: "info", text: "hello" },
});
const table = capability("feed", { doc: "Pushes texts.", calls: {}, pushes: { item } });

const readers = new Set<SessionContext>();
const feedPlugin = plugin(table, {
  session(context) {
    readers.add(context);
    return { handlers: {}, close: () => void readers.delete(context) };
  },
});

const { host, close } = await startEchoHost({ plugins: [feedPlugin] });
const server = await startServer(host, { port: 0 });

process.on("message", async (command: FeedCommand) => {
  await feed(command, (text) => {
    for (const reader of readers) reader.push(item, { level: "info", text });
  });
  process.send?.({ sent: readers.size * command.pushes });
});
process.on("disconnect", async () => {
  await close();
  await server.close();
  process.exit();
});
process.send?.({ port: server.port });
