// The states of a plugin in a thread. The host has the copy that lasts: every change is sent to it ahead of any message that
// the plugin sends after the change.

import type { LayeredState } from "../machinery/state/layered-state.ts";
import { copyJson, type JsonValue } from "../protocol/json.ts";
import type { FromPluginThread, StateEntries } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

export class ThreadStates {
  readonly #send: (message: FromPluginThread) => void;
  readonly #changed = new Map<number, LayeredState>();
  #flushing: NodeJS.Immediate | undefined;

  constructor(send: (message: FromPluginThread) => void) {
    this.#send = send;
  }

  add(session: number, state: LayeredState): void {
    state.track(() => {
      this.#changed.set(session, state);
      // In case the plugin sends nothing after this change.
      this.#flushing ??= setImmediate(() => this.flush());
    });
  }

  delete(session: number): void {
    this.flush();
    this.#changed.delete(session);
  }

  flush(): void {
    if (this.#changed.size === 0) return;
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    for (const [session, state] of [...this.#changed]) {
      try {
        const changes: StateEntries = state.takeChanges().map(({ key, value }) => this.#toEntry(key, value));
        this.#changed.delete(session);
        this.#send({ kind: "state", session, changes });
      } catch (error) {
        // The read function of a live value threw: it is called again with the next message.
        this.#complain(error);
      }
    }
  }

  #toEntry(key: string, value: JsonValue | undefined): StateEntries[number] {
    try {
      return value === undefined ? [key] : [key, copyJson(value)];
    } catch (error) {
      this.#complain(error, key);
      return [key];
    }
  }

  #complain(error: unknown, key = ""): void {
    const fields = { key, error: toThreadError(error).message };
    this.#send({ kind: "log", level: "error", message: "state of a session cannot be kept", fields });
  }
}
