// Calls continue while the connection beneath them is cut hundreds of times at random points.
import { expect, test } from "vitest";
import { A2EClient } from "../client/client.ts";
import type { Transport } from "../protocol/transport.ts";
import { startServer } from "../server/http-server.ts";
import { createSeededRandom, startCuttingProxy } from "./cutting-proxy.suite.ts";
import { echo, startEchoHost } from "./echo-host.suite.ts";
import { createHttpTransport } from "./http/http.ts";
import { createNodeHttpTransport } from "./http/http-node.ts";
import { createNodeWebSocketTransport } from "./websocket/websocket-node.ts";

const reconnect = { initialBackoffMs: 1, maxBackoffMs: 10 };
const eventsPerCall = 3;
const callsAtOnce = 16;

const transports: Record<string, (url: string) => Transport> = {
  HTTP: (url) => createNodeHttpTransport({ url, reconnect }),
  "HTTP by fetch": (url) => createHttpTransport({ url, reconnect }),
  WebSocket: (url) => createNodeWebSocketTransport({ url, reconnect }),
};

/** Defines a test per transport with this many cuts. */
export function testCuts(wantedCuts: number): void {
  test.each(Object.entries(transports))(
    `${wantedCuts} cuts of a connection over %s lose, repeat and reorder no message`,
    { timeout: 60_000 + wantedCuts * 200 },
    async (_name, createTransport) => {
      const counts = new Map<string, number>();
      const host = await startEchoHost({ counts });
      const server = await startServer(host, { port: 0 });
      const proxy = await startCuttingProxy(server.port, createSeededRandom(20_260_101), 12_000);
      try {
        const client = await connectThrough(() => createTransport(proxy.url));
        let calls = 0;
        const work = async () => {
          while (proxy.cuts < wantedCuts) {
            const key = `key ${calls++}`;
            const numbers: unknown[] = [];
            const { times } = await client
              .use(echo)
              .count({ key, events: eventsPerCall }, { onEvent: ({ data }) => void numbers.push(data.number) });
            expect({ key, times, numbers }).toEqual({ key, times: 1, numbers: [1, 2, 3] });
          }
        };
        await Promise.all(Array.from({ length: callsAtOnce }, work));
        proxy.spare();
        expect([...counts.values()].every((times) => times === 1)).toBe(true);
        expect(counts.size).toBe(calls);
        await client.disconnect();
      } finally {
        await proxy.close();
        await host.close(0);
        await server.close();
      }
    },
  );
}

/** A transport does not repeat its first attempt to open, and the proxy may cut that attempt too. */
async function connectThrough(createTransport: () => Transport): Promise<A2EClient> {
  for (;;) {
    try {
      return await A2EClient.connect({ transport: createTransport(), capabilities: ["echo"], timeoutMs: 0 });
    } catch {}
  }
}
