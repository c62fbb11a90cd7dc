// The handlers of messages that do not answer a call.
import type { Message } from "../protocol/envelope.ts";
import { copyJson } from "../protocol/json.ts";
import { guarded } from "./guarded.ts";

export type PushHandler = (message: Message) => void;

export class PushHandlers {
  /** By type; `*` stands for all. */
  readonly #handlers = new Map<string, Set<PushHandler>>();

  /** Returns a function that removes the handler. */
  add(type: string, handler: PushHandler): () => void {
    const handlers = this.#handlers.get(type) ?? new Set();
    this.#handlers.set(type, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Each handler gets a copy of the message, so that no handler can change another's. */
  tell(message: Message): void {
    for (const key of [message.type, "*"]) {
      for (const handler of this.#handlers.get(key) ?? []) {
        const own = copyJson(message);
        guarded(() => handler(own));
      }
    }
  }
}
