import { startServer } from "../../server/http-server.ts";
import { startEchoHost } from "../echo-host.suite.ts";
import { testTransport } from "../transport.suite.ts";
import { createNodeWebSocketTransport } from "./websocket-node.ts";

testTransport("WebSocket", async () => {
  const counts = new Map<string, number>();
  const host = await startEchoHost({ counts, die: () => void host.close(0) });
  const server = await startServer(host, { port: 0 });
  return {
    createTransport: () => createNodeWebSocketTransport({ url: server.url }),
    counted: (key: string) => counts.get(key),
    async stop() {
      await host.close(0);
      await server.close();
    },
  };
});
