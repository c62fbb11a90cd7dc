// A request that has not been answered yet: what its runner, its table and its slot know about it. Handlers see it
// through a HandlerContext, interceptors as an InterceptedCall.

import type { CallOptions, SessionInfo } from "../../plugin/call-context.ts";
import type { Logger } from "../../plugin/logger.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { IdEntry } from "../../protocol/id-table.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { TypeEntry } from "../../protocol/table/registry.ts";
import type { HostCharge } from "../kernel.ts";
import type { Sources } from "../sources.ts";
import type { InterceptedCall } from "./interceptors.ts";

export type RequestEntry = Extract<TypeEntry, { kind: "request" }>;

/** The objects of a session that its calls use. */
export interface CallServices {
  readonly session: Required<SessionInfo>;
  readonly sources: Sources;
  readonly log: Logger;
  readonly limits: Limits;
  readonly outbox: { sendAside(message: Message): unknown };
  readonly charge?: HostCharge | undefined;
}

/** The part of the call runner that a call uses. */
export interface CallOwner {
  readonly scope: CallServices;
  readonly nested: NestedStarter;
  /** Runs the handlers of the call. */
  handle(call: ActiveCall): JsonObject | Promise<JsonObject>;
  /** Answers the call with an error, unless it has ended. */
  endWithError(call: ActiveCall, error: A2EError): void;
}

/** Makes calls on behalf of another call, or of the session in the background. */
export interface NestedStarter {
  /** Returns the result if the handler is synchronous, else a promise. Throws an A2EError. */
  start(
    parent: CallParent,
    call: Call | string,
    request: JsonObject,
    options?: CallOptions,
  ): JsonObject | Promise<JsonObject>;
  /** Runs `work` in place of a nested call; see `inlineCall` of CallContext. */
  inline<Result>(parent: ActiveCall, type: string, work: () => Result | undefined): Result | undefined;
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

/** The part of a nested call that a call from the wire does not have. */
export interface NestedCall {
  readonly parent: CallParent;
  /** The caller chose the id of the call, so it may not be unique. */
  readonly hasChosenId: boolean;
  readonly onEvent: CallOptions["onEvent"];
  /** The result or the error, once the call has ended. */
  outcome: JsonObject | A2EError | undefined;
  /** Called with the outcome if the call does not end synchronously. */
  onOutcome: ((outcome: JsonObject | A2EError) => void) | undefined;
}

export class ActiveCall implements InterceptedCall, CallParent {
  readonly owner: CallOwner;
  readonly entry: RequestEntry;
  readonly id: string;
  #request: JsonObject;
  readonly bytesIn: number;
  /** Undefined for a call from the wire. */
  readonly nested: NestedCall | undefined;
  #controller: AbortController | undefined;
  #endError: A2EError | undefined;
  /** Milliseconds since 1970; 0 while the call waits for a slot. */
  startedAt = 0;
  timeoutMs = 0;
  /** Set once the handler has returned a promise. */
  deadline: CallDeadline | undefined;
  /** The entry of the call in the CallTable of its session. */
  tableEntry: IdEntry<unknown> | undefined;
  isEnded = false;
  /** Whether the call has a slot. */
  isRunning = false;
  eventCount = 0;
  running: ActiveCall | undefined;
  children: Set<ActiveCall> | undefined;
  nestedCalls = 0;
  traceparent: string | undefined;
  /** How often the same request was received again while this call was in flight. Each repetition is answered. */
  repeats = 0;

  constructor(
    owner: CallOwner,
    entry: RequestEntry,
    id: string,
    request: JsonObject,
    bytesIn: number,
    nested: NestedCall | undefined,
  ) {
    this.owner = owner;
    this.entry = entry;
    this.id = id;
    this.#request = request;
    this.bytesIn = bytesIn;
    this.nested = nested;
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

  get session(): SessionInfo {
    return this.owner.scope.session;
  }

  get isNested(): boolean {
    return this.nested !== undefined;
  }

  get hasChosenId(): boolean {
    return this.nested?.hasChosenId === true;
  }

  get caller(): ActiveCall | undefined {
    return this.nested?.parent instanceof ActiveCall ? this.nested.parent : undefined;
  }

  /** The number of calls that this call is nested in. */
  get depth(): number {
    return this.nested === undefined ? 0 : this.nested.parent.depth + 1;
  }

  /** Made on first use: an AbortController costs more than the rest of a small call together. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.isEnded) this.#controller.abort(this.#endError ?? new A2EError("cancelled", "the call has ended"));
    }
    return this.#controller.signal;
  }

  /** Replaces the timeout, which counts from the start of the call. */
  limitTime(timeoutMs: number): void {
    if (!(timeoutMs > 0)) return;
    this.timeoutMs = Math.min(timeoutMs, this.owner.scope.limits.maxCallTimeoutMs);
    this.deadline?.restart();
  }

  /** Marks the call as ended. With an error, also aborts its signal. */
  end(error?: A2EError): void {
    this.isEnded = true;
    if (error === undefined) return;
    this.#endError = error;
    this.#controller?.abort(error);
  }
}

/** Ends a call that has timed out; see `Deadlines`. Only calls that are not answered synchronously have a deadline. */
export class CallDeadline {
  readonly call: ActiveCall;
  /** Milliseconds on the monotonic clock, so setting the system time has no effect. */
  expiresAt = 0;

  constructor(call: ActiveCall) {
    this.call = call;
    this.restart();
  }

  get id(): string {
    return this.call.id;
  }

  get session(): SessionInfo {
    return this.call.session;
  }

  restart(): void {
    const { owner, startedAt, timeoutMs } = this.call;
    this.expiresAt = performance.now() - (owner.scope.sources.clock.now() - startedAt) + timeoutMs;
  }

  expire(): void {
    const seconds = this.call.timeoutMs / 1000;
    const detail = { timeout_seconds: seconds };
    this.call.owner.endWithError(this.call, new A2EError("timeout", `no result within ${seconds} s`, { detail }));
  }
}
