// A request that has not been answered yet. Handlers see it as their CallContext.

import type { Expirable } from "../../machinery/pacing/deadlines.ts";
import type { CallContext, CallOptions, CallOther, SessionInfo } from "../../plugin/call-context.ts";
import type { Logger } from "../../plugin/logger.ts";
import { toPromise } from "../../protocol/awaitable.ts";
import type { Clock, Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { IdEntry } from "../../protocol/id-table.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { TypeEntry } from "../../protocol/table/registry.ts";

export type RequestEntry = Extract<TypeEntry, { kind: "request" }>;

/** The part of the call runner that a call uses. */
export interface CallOwner {
  readonly session: SessionInfo;
  readonly log: Logger;
  readonly clock: Clock;
  readonly maxCallTimeoutMs: number;
  sendEvent(call: ActiveCall, kind: string, data: JsonObject): void;
  /** Throws an A2EError. */
  startNested(
    parent: CallParent,
    call: Call | string,
    request: JsonObject,
    options?: CallOptions,
  ): JsonObject | Promise<JsonObject>;
  /** Runs `work` in place of a nested call; see `inlineCall` of CallContext. */
  inlineCall<Result>(parent: ActiveCall, type: string, work: () => Result | undefined): Result | undefined;
  /** Runs the handlers of the call. */
  handle(call: ActiveCall): JsonObject | Promise<JsonObject>;
  /** Answers the call with the error `timeout`. */
  expire(call: ActiveCall): void;
}

/** The maker of a nested call: another call, or the session in the background. The nested call ends with it. */
export interface CallParent {
  readonly isEnded: boolean;
  readonly depth: number;
  /** The nested call whose handler has not returned yet. Most calls have ended by then and never become children. */
  running: ActiveCall | undefined;
  /** Nested calls that have not ended. */
  children: Set<ActiveCall> | undefined;
  /** How many nested calls its audit entry counts; undefined if it has no audit entry. */
  nestedCalls: number | undefined;
}

export class ActiveCall implements CallContext, CallParent, Expirable {
  readonly id: string;
  readonly entry: RequestEntry;
  #request: JsonObject;
  readonly bytesIn: number;
  /** Undefined for a call from the wire. */
  readonly parent: CallParent | undefined;
  /** Receives the events of a nested call. */
  readonly onEvent: CallOptions["onEvent"];
  /** The caller chose the id of this nested call, so it may not be unique. */
  hasChosenId = false;
  /** The handshake message as received: the dialect depends on version fields that the parsed request does not have. */
  handshake: Message | undefined;
  readonly #owner: CallOwner;
  #controller: AbortController | undefined;
  #endError: A2EError | undefined;
  /** Milliseconds since 1970; 0 while the call waits for a slot. */
  startedAt = 0;
  timeoutMs = 0;
  /** Milliseconds on the monotonic clock; undefined until the handler has returned a promise. */
  #deadline: number | undefined;
  /** The entry of the call in the CallTable of its session. */
  tableEntry: IdEntry<unknown> | undefined;
  isEnded = false;
  isRunning = false;
  eventCount = 0;
  running: ActiveCall | undefined;
  children: Set<ActiveCall> | undefined;
  nestedCalls = 0;
  /** How often the same request was received again while this call was in flight. Each repetition is answered. */
  repeats = 0;
  /** The result or the error of a nested call that has ended. */
  outcome: JsonObject | A2EError | undefined;
  /** Called with the outcome if a nested call does not end synchronously. */
  onOutcome: ((outcome: JsonObject | A2EError) => void) | undefined;

  constructor(
    owner: CallOwner,
    entry: RequestEntry,
    id: string,
    request: JsonObject,
    bytesIn: number,
    parent?: CallParent,
    onEvent?: CallOptions["onEvent"],
  ) {
    this.#owner = owner;
    this.entry = entry;
    this.id = id;
    this.#request = request;
    this.bytesIn = bytesIn;
    this.parent = parent;
    this.onEvent = onEvent;
  }

  get request(): JsonObject {
    return this.#request;
  }

  /** Replaces the request for the handler, as an interceptor does. Throws if it does not fit the table. */
  set request(request: JsonObject) {
    const parsed = this.entry.call.parseRequest(request, this.entry.capability.name);
    if (parsed instanceof A2EError) throw parsed;
    this.#request = parsed;
  }

  get type(): string {
    return this.entry.call.type;
  }

  get capability(): string {
    return this.entry.capability.name;
  }

  get name(): string {
    return this.entry.name;
  }

  get isNested(): boolean {
    return this.parent !== undefined;
  }

  get caller(): ActiveCall | undefined {
    return this.parent instanceof ActiveCall ? this.parent : undefined;
  }

  get session(): SessionInfo {
    return this.#owner.session;
  }

  get log(): Logger {
    return this.#owner.log;
  }

  get clock(): Clock {
    return this.#owner.clock;
  }

  /** Made on first use: an AbortController costs more than the rest of a small call together. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isEnded) this.#controller.abort(this.#endError ?? new A2EError("cancelled", "the call has ended"));
    }
    return this.#controller.signal;
  }

  /** This and the next getters return bound functions, so handlers may destructure their context. Created on use. */
  get emit(): CallContext["emit"] {
    return (kind, data) => {
      if (!this.isEnded) this.#owner.sendEvent(this, kind, data);
    };
  }

  get setTimeout(): CallContext["setTimeout"] {
    return (timeoutMs) => this.limitTime(timeoutMs);
  }

  get call(): CallOther {
    return ((call: Call | string, request: JsonObject, options?: CallOptions) =>
      toPromise(() => this.#owner.startNested(this, call, request, options))) as CallOther;
  }

  get callNow(): CallContext["callNow"] {
    return (type, request, options) => this.#owner.startNested(this, type, request, options);
  }

  get inlineCall(): CallContext["inlineCall"] {
    return (type, work) => this.#owner.inlineCall(this, type, work);
  }

  /** The number of calls that this call is nested in. */
  get depth(): number {
    return this.parent === undefined ? 0 : this.parent.depth + 1;
  }

  limitTime(timeoutMs: number): void {
    if (!(timeoutMs > 0)) return;
    this.timeoutMs = Math.min(timeoutMs, this.#owner.maxCallTimeoutMs);
    if (this.hasDeadline) this.startDeadline();
  }

  get hasDeadline(): boolean {
    return this.#deadline !== undefined;
  }

  get expiresAt(): number {
    return this.#deadline ?? Number.POSITIVE_INFINITY;
  }

  /** The timeout counts from the start of the call, on the monotonic clock, so setting the system time has no effect. */
  startDeadline(): void {
    this.#deadline = performance.now() - (this.clock.now() - this.startedAt) + this.timeoutMs;
  }

  expire(): void {
    this.#owner.expire(this);
  }

  handle(): JsonObject | Promise<JsonObject> {
    return this.#owner.handle(this);
  }

  /** Marks the call as ended. With an error, also aborts its signal. */
  end(error?: A2EError): void {
    this.isEnded = true;
    if (error === undefined) return;
    this.#endError = error;
    this.#controller?.abort(error);
  }
}
