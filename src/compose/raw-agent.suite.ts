// An agent below the client library: it sends any message over any transport, before and after a handshake.
import { PassThrough } from "node:stream";
import type { A2EHost } from "../host/host.ts";
import type { Message } from "../protocol/envelope.ts";
import type { Transport, TransportEvents } from "../protocol/transport.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { createNodeHttpTransport } from "../transports/http/http-node.ts";
import { serveStdio } from "../transports/stdio/stdio.ts";
import { createNodeWebSocketTransport } from "../transports/websocket/websocket-node.ts";

/** The answer to a message that got none because the link was closed. */
const linkClosed = { type: "error", code: "link_closed" };

/** `token` is what the transport itself presents, before the handshake. */
export const wires: Readonly<Record<string, (host: A2EHost, url: string, token?: string) => Transport>> = {
  direct: (host) => createDirectTransport(() => host.sessions.create()),
  HTTP: (_, url, token) => createNodeHttpTransport({ url, ...(token === undefined ? {} : { token }) }),
  WebSocket: (_, url, token) =>
    createNodeWebSocketTransport({ url: url.replace("http", "ws"), ...(token === undefined ? {} : { token }) }),
  stdio: (host) => createPipedTransport(host),
};

export class RawAgent {
  readonly #transport: Transport;
  readonly #waiting = new Map<string, (answer: Record<string, unknown>) => void>();
  #isClosed = false;
  #count = 0;

  private constructor(transport: Transport) {
    this.#transport = transport;
  }

  static async open(transport: Transport): Promise<RawAgent> {
    const agent = new RawAgent(transport);
    await transport.open({
      receive: (message) => agent.#receive(message),
      restored() {},
      closed: () => agent.#closed(),
    });
    return agent;
  }

  /** The first message that answers this request, events aside; `linkClosed` if there is none. */
  ask(type: string, fields: object): Promise<Record<string, unknown>> {
    this.#count += 1;
    const id = `ask-${this.#count}`;
    if (this.#isClosed) return Promise.resolve(linkClosed);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      try {
        this.#transport.send({ a2e: "1.0", version: "1.0", ts: 0, ...fields, type, id } as Message);
      } catch {
        resolve(linkClosed);
      }
    });
  }

  shakeHands(token: string, agent_caps: readonly string[]): Promise<Record<string, unknown>> {
    return this.ask("handshake/req", { agent_id: "agent", agent_caps, auth_token: token });
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #receive(message: Message): void {
    const copy = JSON.parse(JSON.stringify(message)) as Record<string, unknown>;
    if (message.type.endsWith("/event")) return;
    this.#waiting.get(String(copy.req_id))?.(copy);
    this.#waiting.delete(String(copy.req_id));
  }

  #closed(): void {
    this.#isClosed = true;
    for (const resolve of this.#waiting.values()) resolve(linkClosed);
    this.#waiting.clear();
  }
}

/** A session behind two pipes in this process, as `a2e stdio` serves it. */
function createPipedTransport(host: A2EHost): Transport {
  const input = new PassThrough();
  const output = new PassThrough();
  let served: Promise<void> | undefined;
  return {
    async open(events: TransportEvents) {
      let rest = "";
      output.setEncoding("utf8").on("data", (text: string) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) events.receive(JSON.parse(line) as Message);
      });
      input.setEncoding("utf8");
      served = serveStdio(host.sessions.create(), { input, output, limits: host.limits }).then(() => events.closed());
    },
    send: (message) => void input.write(`${JSON.stringify(message)}\n`),
    async close() {
      input.end();
      await served;
    },
  };
}
