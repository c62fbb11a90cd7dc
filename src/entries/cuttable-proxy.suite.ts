import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CuttableProxy {
  readonly port: number;
  /** Ends every connection that passes here, as a failing network would; new ones are taken. */
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Stands between an agent and a port of this machine. */
export async function startCuttableProxy(targetPort: number): Promise<CuttableProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((inward) => {
    const outward = connect(targetPort, "127.0.0.1");
    for (const [socket, other] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    async [Symbol.asyncDispose]() {
      const isClosed = new Promise((resolve) => server.close(resolve));
      cut();
      await isClosed;
    },
  };
}
