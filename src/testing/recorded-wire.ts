import { encodeMessage } from "../protocol/codec.ts";
import type { Message } from "../protocol/envelope.ts";
import type { CheckedAnswer } from "../protocol/table/checked-answer.ts";
import type { Transport } from "../protocol/transport.ts";

export interface WireRecord {
  /** As the agent sees it. */
  readonly direction: "sent" | "received";
  /** The message as a line of NDJSON, for any transport. */
  readonly line: string;
  readonly message: Message;
}

export interface RecordedWire {
  /** To be used instead of the given transport. */
  readonly transport: Transport;
  readonly records: readonly WireRecord[];
}

/**
 * Records every message that passes a transport, in both directions and in order. An answer that a host in the same
 * process passes without creating a message is passed on in the same way. Its record is the message that it would have
 * been, with an id derived from its `req_id`, since it never got one.
 */
export function recordWire(transport: Transport): RecordedWire {
  const records: WireRecord[] = [];
  const record = (direction: WireRecord["direction"], message: Message) => {
    const line = encodeMessage(message);
    // A message may be reused after the call, so the record must be a copy.
    records.push({ direction, line, message: JSON.parse(line) as Message });
  };
  return {
    records,
    transport: {
      open: (events) =>
        transport.open({
          receive(message) {
            record("received", message);
            events.receive(message);
          },
          ...(events.answer === undefined
            ? {}
            : {
                answer(answer: CheckedAnswer) {
                  record("received", answer.toMessage(`answer-${answer.req_id}`));
                  events.answer?.(answer);
                },
              }),
          restored: () => events.restored(),
          closed: (reason) => events.closed(reason),
        }),
      send(message) {
        record("sent", message);
        transport.send(message);
      },
      close: () => transport.close(),
    },
  };
}
