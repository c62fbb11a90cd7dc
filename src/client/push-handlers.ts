// Who wants to hear of messages that answer no call.
import type { Message } from "../protocol/envelope.ts";
import { copyJson } from "../protocol/json.ts";
import { guarded } from "./guarded.ts";

export type PushHandler = (message: Message) => void;

export class PushHandlers {
  /** By type; `*` stands for all. */
  readonly #handlers = new Map<string, Set<PushHandler>>();

  /** Returns what takes the handler away. */
  add(type: string, handler: PushHandler): () => void {
    const handlers = this.#handlers.get(type) ?? new Set();
    this.#handlers.set(type, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Each gets a message of its own: none can change what another sees. */
  tell(message: Message): void {
    for (const key of [message.type, "*"]) {
      for (const handler of this.#handlers.get(key) ?? []) {
        const own = copyJson(message);
        guarded(() => handler(own));
      }
    }
  }
}
