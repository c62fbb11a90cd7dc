import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createSseParser, type SseEvent } from "../framing/sse.ts";
import type { Message } from "../protocol/envelope.ts";
import { startServer } from "../server/http-server.ts";
import { startEchoHost } from "./echo-host.suite.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const lineBytes = 10_000;
const lineCount = 5_000;

test("a reader that does not read costs no more memory than the log's limits, and then receives a gap for the lines it missed", async () => {
  const host = await startEchoHost({ isHandshakeRequired: false });
  const server = await startServer(host, { port: 0 });
  const session = host.sessions.create();
  const socket = connect(server.port, "127.0.0.1").pause();
  try {
    socket.write(`GET /stream HTTP/1.1\r\nhost: localhost\r\nx-session-id: ${session.id}\r\n\r\n`);
    await expect.poll(() => session.readerCount > 0).toBe(true);
    const before = memoryInUse();
    // In many turns, as in a host: the memory must be bounded while the reader sleeps.
    for (let sent = 0; sent < lineCount; sent += 100) {
      session.receiveLine(
        JSON.stringify({ type: "echo/flood/req", id: `flood ${sent}`, lines: 100, bytes: lineBytes }),
      );
      await new Promise(setImmediate);
    }
    const { maxOutboundBytes, maxReaderBytes } = host.limits;
    // The log, the data handed to the socket, and some room for everything else.
    expect(memoryInUse() - before).toBeLessThan(maxOutboundBytes + 4 * maxReaderBytes);

    const events = await readUntil(socket, (event) => event.data.includes(`flood ${lineCount - 100}`));
    const gaps = events
      .map(({ data }) => JSON.parse(data) as Message)
      .filter((message) => message.type === "session/gap");
    expect(gaps.length).toBeGreaterThan(0);
    // Every sequence number either arrives or is covered by a gap: the next line follows the previous line or the end
    // of the gap.
    let last = 0;
    for (const { id, data } of events) {
      const message = JSON.parse(data) as Message;
      if (message.type === "session/gap") expect(message.from).toBe(last + 1);
      else expect(Number(id)).toBe(last + 1);
      last = Number(id);
    }
    expect(last).toBe(session.lastSeq);
  } finally {
    socket.destroy();
    await host.close(0);
    await server.close();
  }
});

function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Reads the body of a chunked answer as events. */
function readUntil(socket: ReturnType<typeof connect>, isLast: (event: SseEvent) => boolean): Promise<SseEvent[]> {
  return new Promise((resolve, reject) => {
    const events: SseEvent[] = [];
    const parser = createSseParser({
      maxDataLength: 100_000,
      onTooLong: () => reject(new Error("too long")),
      onEvent: (event) => {
        events.push(event);
        if (isLast(event)) resolve(events);
      },
    });
    const unchunk = createUnchunker((text) => parser.push(text));
    socket.setEncoding("latin1").on("data", unchunk).on("error", reject).resume();
  });
}

function createUnchunker(onText: (text: string) => void): (text: string) => void {
  let rest = "";
  let isBody = false;
  return (text) => {
    rest += text;
    if (!isBody) {
      const end = rest.indexOf("\r\n\r\n");
      if (end === -1) return;
      rest = rest.slice(end + 4);
      isBody = true;
    }
    for (;;) {
      const lineEnd = rest.indexOf("\r\n");
      if (lineEnd === -1) return;
      const size = Number.parseInt(rest.slice(0, lineEnd), 16);
      if (rest.length < lineEnd + 4 + size) return;
      onText(rest.slice(lineEnd + 2, lineEnd + 2 + size));
      rest = rest.slice(lineEnd + 4 + size);
    }
  };
}
