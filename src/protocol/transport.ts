import type { CheckedAnswer } from "./checked-answer.ts";
import type { Message } from "./envelope.ts";

/** What a transport tells its owner. A transport in process may call `receive` from within `send`. */
export interface TransportEvents {
  /** One message from the peer, in order. It is lent: take what is needed through a table before returning. Must not throw. */
  receive(message: Message): void;
  /** An answer that never became a message, from a peer in the same process; without this method, it becomes one. */
  answer?(answer: CheckedAnswer): void;
  /** The link was cut and is back, or lines were lost: whatever has no answer yet should be sent again under its id. */
  restored(): void;
  /** The link is gone for good, once; `reason` is absent after `close()`. Nothing arrives afterwards. */
  closed(reason?: Error): void;
}

/** Carries messages between an agent and its session, in order. Knows nothing of what they mean. */
export interface Transport {
  /** Called once, before anything else. A rejection means that no link came to be; `closed` is then not called. */
  open(events: TransportEvents): Promise<void>;
  /** Takes the message for delivery; later changes to the object have no effect. Throws once the link is gone. */
  send(message: Message): void;
  /** Sends what was taken, then ends the link. Closing twice is closing once. */
  close(): Promise<void>;
}
