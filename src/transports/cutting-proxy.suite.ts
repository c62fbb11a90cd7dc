// A proxy that cuts connections at random positions in their data.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttingProxy {
  readonly url: string;
  readonly cuts: number;
  /** From now on connections are left alone. */
  spare(): void;
  close(): Promise<void>;
}

/** Each connection may carry a random number of bytes, both ways together, and is then destroyed, inside a chunk if need be. */
export async function startCuttingProxy(
  targetPort: number,
  random: () => number,
  maxBytes: number,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  let isSparing = false;
  const server = createServer((client) => {
    const target = connect(targetPort, "127.0.0.1");
    let budget = Math.floor(random() * maxBytes);
    for (const socket of [client, target]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        (socket === client ? target : client).destroy();
      });
    }
    const forward = (from: Socket, to: Socket) =>
      from.on("data", (chunk: Buffer) => {
        if (isSparing || chunk.length <= budget) {
          budget -= chunk.length;
          to.write(chunk);
          return;
        }
        if (budget < 0) return;
        const last = chunk.subarray(0, budget);
        budget = -1;
        cuts += 1;
        // Half of the cuts also lose the data that is still buffered.
        if (random() < 0.5) to.write(last, () => client.destroy());
        else client.resetAndDestroy();
      });
    forward(client, target);
    forward(target, client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    spare() {
      isSparing = true;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Mulberry32: numbers from 0 to 1 that are the same in every run. */
export function createSeededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
