// The context of a tool whose agent did not ask for a stream: events are kept for the result instead of sent.
import type { CallContext } from "../../host/call-context.ts";
import { remainingBytes } from "../../machinery/validation/json-size.ts";
import { toEventData } from "../../protocol/core.ts";
import { copyJson, type JsonObject } from "../../protocol/json.ts";
import { toolLimits } from "./limits.ts";

interface CollectedEvent {
  kind: string;
  data: JsonObject;
  seq: number;
}

/** Made for each call, so it is small; getters make what a tool asks for, also when it takes `emit` out of the context. */
export class CollectingContext implements CallContext {
  readonly #context: CallContext;
  readonly #maxEvents: number;
  /** Made by the first event: most tools have none. */
  #collected: { readonly events: CollectedEvent[]; dropped: number; room: number } | undefined;

  constructor(context: CallContext, maxEvents: number) {
    this.#context = context;
    this.#maxEvents = maxEvents;
  }

  get id() {
    return this.#context.id;
  }
  get session() {
    return this.#context.session;
  }
  get log() {
    return this.#context.log;
  }
  get startedAt() {
    return this.#context.startedAt;
  }
  get clock() {
    return this.#context.clock;
  }
  get signal() {
    return this.#context.signal;
  }
  get isEnded() {
    return this.#context.isEnded;
  }
  get emit(): CallContext["emit"] {
    return (kind, data) => this.#collect(kind, data);
  }
  get setTimeout(): CallContext["setTimeout"] {
    return (timeoutMs) => this.#context.setTimeout(timeoutMs);
  }
  get call(): CallContext["call"] {
    return this.#context.call;
  }
  get callNow(): CallContext["callNow"] {
    return (type, request, options) => this.#context.callNow(type, request, options);
  }

  get inlineCall(): CallContext["inlineCall"] {
    return (type, work) => this.#context.inlineCall(type, work);
  }

  /** The events so far, and a last one that counts those for which there was no room. */
  takeEvents(): CollectedEvent[] {
    if (this.#collected === undefined) return [];
    const { events, dropped } = this.#collected;
    if (dropped > 0) events.push({ kind: "log", data: { dropped_events: dropped }, seq: events.length + 1 });
    return events;
  }

  #collect(kind: string, given: JsonObject): void {
    this.#collected ??= { events: [], dropped: 0, room: toolLimits.maxCollectedEventBytes };
    const collected = this.#collected;
    const { events } = collected;
    const data = toEventData(given);
    const room = remainingBytes(data, collected.room);
    if (events.length < this.#maxEvents && room >= 0) {
      collected.room = room;
      events.push({ kind, data: copyJson(data), seq: events.length + 1 });
    } else collected.dropped++;
  }
}
