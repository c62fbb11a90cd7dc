// What a plugin in a thread keeps for its sessions. The host has the copy that lasts; it is sent every change before anything
// that the plugin says after it.

import type { SessionState } from "../host/session/session-state.ts";
import { copyJson, type JsonValue } from "../protocol/json.ts";
import type { FromPluginThread, StateEntries } from "./plugin-messages.ts";
import { toThreadError } from "./thread-errors.ts";

export class ThreadStates {
  readonly #send: (message: FromPluginThread) => void;
  readonly #changed = new Map<number, SessionState>();
  #flushing: NodeJS.Immediate | undefined;

  constructor(send: (message: FromPluginThread) => void) {
    this.#send = send;
  }

  add(session: number, state: SessionState): void {
    state.track(() => {
      this.#changed.set(session, state);
      // For a change after which nothing is said.
      this.#flushing ??= setImmediate(() => this.flush());
    });
  }

  delete(session: number): undefined {
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
        // A live value that cannot be had now is asked for again with the next message.
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
