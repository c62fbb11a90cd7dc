// The context of a tool whose agent did not ask for a stream: its events are collected for the result instead of sent.

import { type CollectedEvent, CollectedEvents } from "../../machinery/collected-events.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import { toEventData } from "../../protocol/core.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { toolLimits } from "./limits.ts";

/** Created for each call, so it is small. Members are getters that return bound functions: a tool may take `emit` out of the context. */
export class CollectingContext implements CallContext {
  readonly #context: CallContext;
  readonly #maxEvents: number;
  /** Created by the first event: most tools emit none. */
  #events: CollectedEvents | undefined;

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
  get charge(): CallContext["charge"] {
    return this.#context.charge;
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

  /** The events so far, and a last one with the number of events for which there was no room. */
  takeEvents(): CollectedEvent[] {
    return this.#events?.toList() ?? [];
  }

  #collect(kind: string, data: JsonObject): void {
    this.#events ??= new CollectedEvents({ maxEvents: this.#maxEvents, maxBytes: toolLimits.maxCollectedEventBytes });
    this.#events.add(kind, toEventData(data));
  }
}
