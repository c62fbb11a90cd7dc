import type { Transport } from "../../protocol/transport.ts";
import { startServer } from "../../server/http-server.ts";
import { startEchoHost } from "../echo-host.suite.ts";
import { testTransport } from "../transport.suite.ts";
import { createHttpTransport, type HttpTransportOptions } from "./http.ts";
import { createNodeHttpTransport } from "./http-node.ts";

const start = (create: (options: HttpTransportOptions) => Transport) => async () => {
  const counts = new Map<string, number>();
  const host = await startEchoHost({ counts, die: () => void host.close(0) });
  const server = await startServer(host, { port: 0 });
  return {
    createTransport: () => create({ url: server.url }),
    counted: (key: string) => counts.get(key),
    async stop() {
      await host.close(0);
      await server.close();
    },
  };
};

testTransport("HTTP", start(createNodeHttpTransport));
testTransport("HTTP by fetch", start(createHttpTransport));
