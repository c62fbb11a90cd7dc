// The events of a call, collected for its result: up to a number and a size.
import { copyJson, type JsonObject } from "../protocol/json.ts";
import { remainingBytes } from "./validation/json-size.ts";

export interface CollectedEvent {
  kind: string;
  data: JsonObject;
  seq: number;
}

export class CollectedEvents {
  readonly #events: CollectedEvent[] = [];
  readonly #maxEvents: number;
  /** How many bytes of data may still be added. */
  #room: number;
  #dropped = 0;

  constructor({ maxEvents, maxBytes }: { maxEvents: number; maxBytes: number }) {
    this.#maxEvents = maxEvents;
    this.#room = maxBytes;
  }

  /**
   * Adds a copy of the event. If there is no room for it, it is only counted; a smaller event may still be added
   * later.
   */
  add(kind: string, data: JsonObject): void {
    const room = remainingBytes(data, this.#room);
    if (this.#events.length < this.#maxEvents && room >= 0) {
      this.#room = room;
      this.#events.push({ kind, data: copyJson(data), seq: this.#events.length + 1 });
    } else this.#dropped += 1;
  }

  /** The events so far, followed by an event with the number of events that had no room, if there were any. */
  toList(): CollectedEvent[] {
    if (this.#dropped === 0) return this.#events;
    return [...this.#events, { kind: "log", data: { dropped_events: this.#dropped }, seq: this.#events.length + 1 }];
  }
}
