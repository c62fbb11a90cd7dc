// A reader of server-sent events that is as cheap as can be: it counts marks in raw bytes, so that a thousand of them cost
// less than the server they measure.
import { once } from "node:events";
import { connect } from "node:net";
import { mark } from "../servers/feed.ts";

export interface CountingReader {
  /** Resolves when so many pushes have come since the last time. */
  waitFor(pushes: number): Promise<void>;
  close(): void;
}

const markByte = mark.charCodeAt(0);

export async function openReader(port: number, path: string, headers: Record<string, string>): Promise<CountingReader> {
  const socket = connect(port, "127.0.0.1");
  const lines = Object.entries({ host: `127.0.0.1:${port}`, accept: "text/event-stream", ...headers });
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  const [head] = (await once(socket, "data")) as [Buffer];
  if (!head.toString("latin1").startsWith("HTTP/1.1 200")) throw new Error(`no stream: ${head.toString("latin1")}`);

  let missing = 0;
  let arrived = () => {};
  socket.on("data", (bytes) => {
    for (let at = bytes.indexOf(markByte); at !== -1; at = bytes.indexOf(markByte, at + 1)) missing -= 1;
    if (missing === 0) arrived();
  });
  socket.on("error", () => {});
  return {
    waitFor(pushes) {
      missing += pushes;
      return new Promise((resolve) => {
        arrived = resolve;
      });
    },
    close: () => socket.destroy(),
  };
}
