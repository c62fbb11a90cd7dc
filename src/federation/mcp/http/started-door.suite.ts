// /mcp without the host's server around it: a test sees every response, and controls the clock.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { A2EHost } from "../../../host/host.ts";
import { anonymous } from "../../../plugin/principal.ts";
import { createFakeClock, type FakeClock } from "../../../testing/fake-clock.ts";
import { createMcpDoor, type McpDoor } from "./http-door.ts";

export interface StartedDoor {
  readonly door: McpDoor;
  readonly url: string;
  readonly clock: FakeClock;
  /** Responses that are not closed. */
  readonly open: ReadonlySet<ServerResponse>;
  /** Errors of responses, which production code does not listen to. */
  readonly errors: Error[];
}

export async function startDoor(host: A2EHost): Promise<StartedDoor> {
  const clock = createFakeClock();
  const door = createMcpDoor(host, { version: "1", clock });
  const open = new Set<ServerResponse>();
  const errors: Error[] = [];
  const server = createServer((request, response) => {
    open.add(response);
    response.on("close", () => open.delete(response));
    response.on("error", (error) => errors.push(error));
    void door.handle(request, response, { token: "", identity: anonymous });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await door.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { door, url: `http://127.0.0.1:${port}`, clock, open, errors };
}

/** Sends a request and then does not read the response. */
export async function sendRaw(url: string, head: string, body = ""): Promise<Socket> {
  const { port } = new URL(url);
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  const lines = [head, `host: 127.0.0.1:${port}`, "accept: application/json, text/event-stream"];
  if (body !== "") lines.push("content-type: application/json", `content-length: ${Buffer.byteLength(body)}`);
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return socket;
}

/** The text that a socket has received up to the first match. */
export function received(socket: Socket, pattern: RegExp): Promise<RegExpExecArray> {
  return new Promise((resolve) => {
    let text = "";
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      const match = pattern.exec(text);
      if (match === null) return;
      socket.off("data", read).pause();
      resolve(match);
    };
    socket.on("data", read);
  });
}
