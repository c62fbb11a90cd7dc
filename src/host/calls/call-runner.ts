// Runs the calls of one session: a limited number at once, each with a deadline, each with exactly one answer.
// Every call ends in `#end`, no matter how its handler behaves.

import type { CallOptions } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import { toPromise } from "../../protocol/awaitable.ts";
import { core } from "../../protocol/core.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import { CheckedAnswer } from "../../protocol/table/checked-answer.ts";
import type { Kernel } from "../kernel.ts";
import type { Outbox } from "../outbound/outbox.ts";
import type { KeptEntry } from "../ports/session-keeping.ts";
import type { SessionParts } from "../session/session-parts.ts";
import type { SessionScope } from "../session/session-scope.ts";
import type { SessionTap } from "../session/session-tap.ts";
import {
  ActiveCall,
  CallDeadline,
  type CallParent,
  type CallServices,
  type NestedCall,
  type RequestEntry,
} from "./active-call.ts";
import type { CallAudit } from "./call-audit.ts";
import { internalError, isDeclared, toErrorMessage } from "./call-errors.ts";
import { CallSlots, type SlotPace } from "./call-slots.ts";
import { type Answer, CallTable } from "./call-table.ts";
import { dispatch, toNative } from "./dispatch.ts";
import { Gate } from "./gate.ts";
import { NestedCalls, type NestedOwner, unendedCalls } from "./nested-calls.ts";

/** The components of a session that the call runner uses. */
export interface RunnerPort {
  readonly outbox: Pick<Outbox, "send" | "sendAside" | "answer" | "resend">;
  /** Decides when calls that have waited for a slot may run. */
  readonly intake: SlotPace;
  readonly parts: Pick<SessionParts, "of">;
  readonly kept: Pick<KeptEntry, "changed">;
}

export class CallRunner implements NestedOwner {
  readonly scope: CallServices;
  readonly gate: Gate;
  readonly #kernel: Kernel;
  readonly #tap: SessionTap | undefined;
  readonly #port: RunnerPort;
  readonly #audit: CallAudit;
  readonly #calls: CallTable;
  readonly #slots: CallSlots;
  /** Created with the first nested call: many sessions make none. */
  #nested: NestedCalls | undefined;
  #background: (CallParent & { isEnded: boolean }) | undefined;
  #idleWaiters: (() => void)[] | undefined;
  #isCancelled = false;
  /** Ids of the requests that `leave` ended without an answer: the next host answers them. */
  #left: Set<string> | undefined;
  /** By request id: how many events an earlier process sent for a request that it did not answer. */
  #eventCounts: Map<string, number> | undefined;

  constructor(kernel: Kernel, { info, sources, tap, life }: SessionScope, port: RunnerPort, audit: CallAudit) {
    this.#kernel = kernel;
    this.#tap = tap;
    this.#port = port;
    this.#audit = audit;
    this.scope = {
      session: info,
      sources,
      log: kernel.log,
      limits: kernel.limits,
      outbox: port.outbox,
      charge: kernel.charge,
    };
    this.gate = new Gate(info, life, sources, port.parts);
    this.#calls = new CallTable(kernel.limits);
    this.#slots = new CallSlots(kernel.limits, this, port.intake);
  }

  get nested(): NestedCalls {
    this.#nested ??= new NestedCalls(this.#kernel, this, this.gate, this.#audit);
    return this.#nested;
  }

  mayInline(capability: string): boolean {
    // Interceptors and taps must see every call, rights depend on its request, and a capability with several plugins calls all
    // of them.
    if (this.#kernel.intercept !== undefined || this.#tap !== undefined || !this.gate.isUnrestricted) return false;
    return this.#port.parts.of(capability).length === 1;
  }

  get pendingCount(): number {
    return this.#calls.inFlight;
  }

  /** Whether a call runs or waits, including calls in the background. */
  get isBusy(): boolean {
    return this.#calls.inFlight > 0 || (this.#background?.children?.size ?? 0) > 0;
  }

  /** Ids of the calls that are running or waiting. */
  get pendingIds(): string[] {
    return this.#calls.calls().map((call) => call.id);
  }

  /** Restores answers and event numbers from the outgoing lines of an earlier process. */
  recover(lines: readonly string[]): void {
    for (const line of lines) {
      const { req_id, type, seq, code } = JSON.parse(line) as Message;
      // A request that was answered with `rate_limited` did not run: the agent may retry it under the same id.
      if (typeof req_id !== "string" || (type === "error" && code === "rate_limited")) continue;
      if (!type.endsWith("/event")) {
        this.#calls.recover(req_id, line);
        this.#eventCounts?.delete(req_id);
      } else if (typeof seq === "number" && this.#calls.get(req_id) === undefined) {
        this.#eventCounts ??= new Map();
        this.#eventCounts.set(req_id, seq);
      }
    }
  }

  /** Answers a request whose id was received before. Returns false if the id is new. */
  repeat(id: string): boolean {
    const known = this.#calls.get(id);
    if (known instanceof ActiveCall) known.repeats += 1;
    else if (known !== undefined) this.#port.outbox.resend(known, this.scope.sources.nextId);
    // A request that `leave` has ended must not run here again: only the next host may answer it.
    return known !== undefined || this.#left?.has(id) === true;
  }

  /** Runs the call now or when a slot is free. Returns an error if the queue for slots is full. */
  start(
    entry: RequestEntry,
    id: string,
    request: JsonObject,
    bytesIn: number,
    now: number,
    traceparent?: unknown,
  ): A2EError | undefined {
    const mustWait = !entry.call.isControl && this.#slots.areTaken;
    const overload = mustWait ? this.#slots.overload() : undefined;
    if (overload !== undefined) return overload;
    const call = new ActiveCall(this, entry, id, request, bytesIn, undefined);
    if (typeof traceparent === "string") call.traceparent = traceparent;
    if (this.#eventCounts !== undefined) this.#goOnCounting(call, this.#eventCounts);
    this.#calls.add(call);
    if (mustWait) this.#slots.queue(call);
    else this.#run(call, now);
    return undefined;
  }

  /** Continues the event numbers of a request that an earlier process did not answer. */
  #goOnCounting(call: ActiveCall, counts: Map<string, number>): void {
    call.eventCount = counts.get(call.id) ?? 0;
    counts.delete(call.id);
  }

  /** Runs a call that has waited for a slot, or a nested call. */
  run(call: ActiveCall): void {
    this.#run(call, this.scope.sources.clock.now());
  }

  #run(call: ActiveCall, now: number): void {
    if (this.#tap === undefined) this.#runNow(call, now);
    else this.#tap.enter({ kind: "call", call }, () => this.#runNow(call, now));
  }

  #runNow(call: ActiveCall, now: number): void {
    // Control calls must get through when all slots are taken; a nested call runs in the slot of its parent.
    if (call.nested === undefined && !call.entry.call.isControl) this.#slots.take(call);
    call.startedAt = now;
    if (call.timeoutMs === 0) call.timeoutMs = this.#kernel.limits.callTimeoutMs;
    try {
      const outcome = this.#dispatch(call);
      if (!(outcome instanceof Promise)) return this.#succeed(call, outcome);
      if (!call.isEnded) {
        call.deadline = new CallDeadline(call);
        this.#kernel.deadlines.add(call.deadline);
      }
      outcome.then(
        (result) => this.#succeed(call, result),
        (thrown: unknown) => this.#fail(call, thrown),
      );
    } catch (thrown) {
      this.#fail(call, thrown);
    }
  }

  #dispatch(call: ActiveCall): ReturnType<typeof dispatch> {
    const { intercept } = this.#kernel;
    if (intercept !== undefined) return toNative(intercept(call));
    return dispatch(this.#port.parts.of(call.entry.capability.name), call);
  }

  /** Called by the innermost interceptor: runs the handlers and returns their result as plain JSON. */
  handle(call: ActiveCall): JsonObject | Promise<JsonObject> {
    const outcome = dispatch(this.#port.parts.of(call.entry.capability.name), call);
    return outcome instanceof Promise
      ? outcome.then((result) => toPlainResult(call, result))
      : toPlainResult(call, outcome);
  }

  #succeed(call: ActiveCall, result: Awaited<ReturnType<typeof dispatch>>): void {
    if (call.isEnded) return;
    const { capability, call: table } = call.entry;
    if (result === undefined) return this.#fail(call, declinedByAll(call));
    if (result instanceof CheckedResult) return this.#end(call, this.gate.shown(call.entry, result.fields));
    const fields = table.parseResult(result, capability.name);
    if (fields instanceof A2EError) {
      this.scope.log.error("handler returned what its table does not allow", {
        type: table.type,
        issues: fields.message,
      });
      return this.#end(call, internalError(capability.name));
    }
    this.#end(call, this.gate.shown(call.entry, fields));
  }

  #fail(call: ActiveCall, thrown: unknown): void {
    if (call.isEnded) return;
    const { capability, call: table } = call.entry;
    if (isDeclared(thrown, capability.errors, this.#kernel)) return this.#end(call, thrown);
    this.#end(call, internalError(capability.name));
    this.scope.log.error("handler failed", {
      type: table.type,
      session: this.scope.session.handle,
      error: thrown,
    });
  }

  endWithError(call: ActiveCall, error: A2EError): void {
    if (!call.isEnded) this.#end(call, error);
  }

  /** Every call ends here: sends and remembers the answer, frees the slot and reports the call. */
  #end(call: ActiveCall, outcome: JsonObject | A2EError, isLeft = false): void {
    const error = outcome instanceof A2EError ? outcome : undefined;
    call.end(error);
    if (call.deadline !== undefined) this.#kernel.deadlines.delete(call.deadline);
    if (call.children !== undefined || call.running !== undefined) this.#endChildren(call);
    if (call.entry.capability !== core) this.#port.kept.changed();
    if (call.nested !== undefined) return this.#endNested(call, call.nested, outcome);
    const now = this.scope.sources.clock.now();
    let answer: Answer | undefined;
    let errorCode = error?.code ?? "";
    if (isLeft) this.#calls.remove(call);
    else {
      answer = this.#answer(call, outcome, now);
      if (answer === undefined) {
        errorCode = "internal_error";
        answer = this.#answer(call, internalError(call.entry.capability.name), now);
      }
    }
    this.#slots.free(call, now);
    this.#audit.ended(call, now, errorCode, answer);
    this.#slots.startQueued();
    if (this.#idleWaiters !== undefined && this.#calls.inFlight === 0) {
      for (const resume of this.#idleWaiters.splice(0)) resume();
    }
  }

  /** A nested call that succeeds is counted in its parent's audit entry, if the parent has one. Others are reported. */
  #endNested(call: ActiveCall, nested: NestedCall, outcome: JsonObject | A2EError): void {
    const { parent } = nested;
    parent.children?.delete(call);
    const errorCode = outcome instanceof A2EError ? outcome.code : "";
    if (errorCode === "" && parent.nestedCalls !== undefined) parent.nestedCalls += 1 + call.nestedCalls;
    else this.#audit.ended(call, this.scope.sources.clock.now(), errorCode, undefined);
    nested.outcome = outcome;
    nested.onOutcome?.(outcome);
  }

  /** Sends the answer once for each time the request was received. Returns undefined if it has no JSON form. */
  #answer(call: ActiveCall, outcome: JsonObject | A2EError, now: number): Answer | undefined {
    const { sources, log } = this.scope;
    try {
      const answer =
        outcome instanceof A2EError
          ? this.#port.outbox.send(toErrorMessage(sources, outcome, call.id))
          : this.#port.outbox.answer(
              new CheckedAnswer(call.entry.call, call.entry.responseType, call.id, outcome, now),
              sources.nextId,
            );
      // A call that an interceptor answered with `rate_limited` did not run: the agent may retry it under the same id.
      if (outcome instanceof A2EError && outcome.code === "rate_limited") this.#calls.remove(call);
      else this.#calls.answer(call, answer);
      for (; call.repeats > 0; call.repeats--) this.#port.outbox.resend(answer, sources.nextId);
      return answer;
    } catch (cause) {
      log.error("answer has no JSON form", { type: call.entry.call.type, error: cause });
      return undefined;
    }
  }

  #endChildren(call: ActiveCall): void {
    const error = new A2EError("cancelled", "the call that made this one has ended");
    for (const child of unendedCalls(call)) this.endWithError(child, error);
  }

  /** Starts a call outside of any request of the agent. It ends with the session. */
  startInBackground(call: Call | string, request: JsonObject, options?: CallOptions): Promise<JsonObject> {
    this.#background ??= {
      isEnded: this.#isCancelled,
      depth: 0,
      running: undefined,
      children: undefined,
      nestedCalls: undefined,
    };
    const parent = this.#background;
    return toPromise(() => this.nested.start(parent, call, request, options));
  }

  /** Ends a call of the agent. Returns false if no such call is in flight. */
  cancel(callId: string, reason: string): boolean {
    const call = this.#calls.get(callId);
    // An ended call is in the table until its answer was sent, and an agent in this process may cancel while it gets it.
    if (!(call instanceof ActiveCall) || call.isEnded || call.entry.call.isControl) return false;
    this.#slots.remove(call);
    this.#end(call, new A2EError("cancelled", reason === "" ? "cancelled by the agent" : reason));
    return true;
  }

  /** Ends calls of the agent without an answer: another process answers when the agent sends the request again. */
  leave(ids: Iterable<string>): void {
    for (const id of ids) {
      const call = this.#calls.get(id);
      if (!(call instanceof ActiveCall) || call.isEnded) continue;
      this.#left ??= new Set();
      this.#left.add(id);
      this.#end(call, new A2EError("cancelled", "left to the next host"), true);
    }
  }

  /** For the end of the session: answers all calls in flight with `cancelled`. New background calls are refused. */
  cancelAll(reason: string): void {
    this.#isCancelled = true;
    this.#slots.clear();
    const calls = this.#calls.calls();
    if (this.#background !== undefined) {
      this.#background.isEnded = true;
      calls.push(...unendedCalls(this.#background));
    }
    for (const call of calls) this.endWithError(call, new A2EError("cancelled", reason));
  }

  /** Resolves when no call is in flight or the signal is aborted, with the ids of the calls still in flight. */
  async drain(signal: AbortSignal): Promise<string[]> {
    if (this.#calls.inFlight > 0 && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#idleWaiters ??= [];
        this.#idleWaiters.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    return this.pendingIds;
  }
}

function toPlainResult(call: ActiveCall, result: Awaited<ReturnType<typeof dispatch>>): JsonObject {
  if (result === undefined) throw declinedByAll(call);
  return result instanceof CheckedResult ? result.fields : result;
}

function declinedByAll({ capability }: ActiveCall): A2EError {
  return new A2EError("runtime_error", `no plugin of "${capability}" took this request`, { retryable: false });
}
