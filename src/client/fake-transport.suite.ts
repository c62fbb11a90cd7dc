// A peer that is controlled by the test: it records the client's messages, and the test sends messages to the client.
import { createMessage } from "../protocol/codec.ts";
import type { Message } from "../protocol/envelope.ts";
import type { Transport, TransportEvents } from "../protocol/transport.ts";
import { createFakeIds } from "../testing/fake-ids.ts";
import { A2EClient, type ClientOptions } from "./client.ts";

export class FakePeer {
  readonly sent: Message[] = [];
  closeCount = 0;
  /** Thrown by every `send` while it is set. */
  sendError: Error | undefined;
  openError: Error | undefined;
  /** The answer to the handshake; undefined leaves it unanswered. */
  handshakeAnswer: object | undefined = { session_id: "session-1", max_parallel: 7 };
  readonly #nextId = createFakeIds("host");
  #events: TransportEvents | undefined;

  readonly transport: Transport = {
    open: async (events) => {
      if (this.openError !== undefined) throw this.openError;
      this.#events = events;
    },
    send: (message) => {
      if (this.sendError !== undefined) throw this.sendError;
      this.sent.push(structuredClone(message));
      if (message.type === "handshake/req" && this.handshakeAnswer !== undefined)
        this.answer(message, "handshake/resp", this.handshakeAnswer);
    },
    close: async () => {
      this.closeCount += 1;
    },
  };

  get events(): TransportEvents {
    if (this.#events === undefined) throw new Error("the transport is not open");
    return this.#events;
  }

  /** Messages of a type, or all but the handshake. */
  sentOf(type?: string): Message[] {
    return this.sent.filter((message) =>
      type === undefined ? message.type !== "handshake/req" : message.type === type,
    );
  }

  /** The last request, to be answered. */
  get last(): Message {
    const message = this.sent.at(-1);
    if (message === undefined) throw new Error("nothing was sent");
    return message;
  }

  say(type: string, fields: object = {}): void {
    this.events.receive(createMessage(type, this.#nextId(), 0, fields));
  }

  answer(request: Message, type: string, fields: object = {}): void {
    this.say(type, { ...fields, req_id: request.id });
  }
}

/** A client that has shaken hands with a peer played by the test. */
export async function connectFake(
  options: Partial<ClientOptions> = {},
): Promise<{ peer: FakePeer; client: A2EClient }> {
  const peer = new FakePeer();
  const client = await A2EClient.connect({ nextId: createFakeIds("agent"), ...options, transport: peer.transport });
  return { peer, client };
}
