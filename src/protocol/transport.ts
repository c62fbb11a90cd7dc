import type { Message } from "./envelope.ts";
import type { CheckedAnswer } from "./table/checked-answer.ts";

/** The callbacks of a transport to its owner. A transport in process may call `receive` from within `send`. */
export interface TransportEvents {
  /**
   * A message from the peer, in order. It may be reused afterwards: copy the needed fields through a table before
   * returning. Must not throw.
   */
  receive(message: Message): void;
  /**
   * An answer from a peer in the same process that was never a message; without this method, a message is created from
   * it.
   */
  answer?(answer: CheckedAnswer): void;
  /**
   * The link was cut and is restored, or lines were lost: requests without an answer should be sent again under their
   * ids.
   */
  restored(): void;
  /** The link is closed for good. Called once; `reason` is absent after `close()`. No message arrives afterwards. */
  closed(reason?: Error): void;
}

/** Carries messages between an agent and its session, in order, without interpreting them. */
export interface Transport {
  /** Called once, before anything else. A rejection means that no link came to be; `closed` is then not called. */
  open(events: TransportEvents): Promise<void>;
  /** Takes the message for delivery; later changes to the object have no effect. Throws once the link is gone. */
  send(message: Message): void;
  /** Sends all accepted messages, then ends the link. Calling it twice is allowed. */
  close(): Promise<void>;
}
