// The events of one call: streamed where the agent wants that, and kept for its result in any case.
import type { CallContext } from "../../../host/call-context.ts";
import { remainingBytes } from "../../../machinery/validation/json-size.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import type { ScriptEvent } from "./script-messages.ts";

interface CollectedEvent {
  kind: string;
  data: JsonObject;
  seq: number;
}

export class CollectedEvents {
  readonly #context: CallContext;
  readonly #isStreaming: boolean;
  readonly #events: CollectedEvent[] = [];
  #room: number = skillLimits.maxCollectedEventBytes;
  #dropped = 0;

  constructor(context: CallContext, isStreaming: boolean) {
    this.#context = context;
    this.#isStreaming = isStreaming;
  }

  add({ kind, data }: ScriptEvent): void {
    if (this.#isStreaming) this.#context.emit(kind, data);
    const room = remainingBytes(data, this.#room);
    if (this.#events.length < skillLimits.maxCollectedEvents && room >= 0) {
      this.#room = room;
      this.#events.push({ kind, data, seq: this.#events.length + 1 });
    } else this.#dropped++;
  }

  /** All of them, and a last one that counts those for which there was no room. */
  take(): CollectedEvent[] {
    if (this.#dropped === 0) return this.#events;
    return [...this.#events, { kind: "log", data: { dropped_events: this.#dropped }, seq: this.#events.length + 1 }];
  }
}
