// The context of a call: its session, its signal, and the calls that a handler can make.

import type { EventKind } from "../protocol/core.ts";
import type { Clock } from "../protocol/envelope.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Call, RequestInputOf, ResultOf } from "../protocol/table/capability.ts";
import type { Logger } from "./logger.ts";
import type { Principal } from "./principal.ts";
import type { Charge } from "./usage.ts";

export interface SessionInfo {
  /** A secret: a peer that has it can act in the session. */
  readonly id: string;
  /** The name of the session for logs and people, which is not a secret. */
  readonly handle?: string;
  readonly principal: Principal;
  /** Capabilities and features that the agent negotiated. */
  readonly granted?: ReadonlySet<string>;
}

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  onEvent?(event: { kind: string; data: JsonObject; seq: number }): void;
  /** The id of the call. Handlers that must recognise a repeated call use it as an idempotency key. */
  id?: string;
}

/** Takes an entry of a capability's table or, without access to that table, the type of the request on the wire. */
export interface CallOther {
  <C extends Call>(call: C, request: RequestInputOf<C>, options?: CallOptions): Promise<ResultOf<C>>;
  (type: string, request: JsonObject, options?: CallOptions): Promise<JsonObject>;
}

/** The second argument of every handler. */
export interface CallContext {
  /** The id of the request, which its answer and events carry as req_id. */
  readonly id: string;
  readonly session: SessionInfo;
  readonly log: Logger;
  readonly clock: Clock;
  /** When the call began to run, in milliseconds since 1970. */
  readonly startedAt: number;
  /**
   * Aborted when the call is cancelled, times out, or its session closes; `signal.reason` is the A2EError to answer
   * with.
   */
  readonly signal: AbortSignal;
  /** True once the answer is no longer needed. Cheaper than `signal`, which is created on first use. */
  readonly isEnded: boolean;
  /**
   * The trace that the call belongs to, in the form of the header `traceparent` of W3C Trace Context. For requests to other
   * systems that understand it.
   */
  readonly traceparent?: string | undefined;
  /** Sends an event before the answer. After the call has ended it does nothing. */
  emit(kind: EventKind | (string & {}), data: JsonObject): void;
  /** Replaces the timeout of this call, counted from its start. `maxCallTimeoutMs` still applies. */
  setTimeout(timeoutMs: number): void;
  /** Undefined if nothing is charged: the host has no quotas, or the plugin runs in a thread of its own. */
  readonly charge?: Charge | undefined;
  /** Calls any capability of this session with the same checks, limits and audit as a call of the agent. */
  readonly call: CallOther;
  /** Like `call`, but returns a result without a promise if it is available at once, and may throw an A2EError. */
  callNow(type: string, request: JsonObject, options?: CallOptions): JsonObject | Promise<JsonObject>;
  /**
   * Runs `work` in place of a nested call of this type, which then costs no request, no result and no call object:
   * chains run pure tools this way (`isPure` of CatalogueTool). Admitted like the call itself, so it throws the same
   * errors; if `work` returns a value, that counts as one of `nested_calls` in the audit entry of this call.
   *
   * Returns undefined if the call has to be made with `callNow` after all: because `work` returned undefined, or
   * without running `work` because the call must not be skipped (the host has interceptors, the session is recorded, or
   * several plugins serve the capability). So `work` must be free of effects and must not throw.
   */
  inlineCall<Result>(type: string, work: () => Result | undefined): Result | undefined;
}

/**
 * A context with some of its members replaced. A context is not copied, because its members are getters on private
 * fields.
 */
export function replaceIn<Context extends object>(context: Context, members: Partial<Context>): Context {
  return new Proxy(context, {
    get: (target, name) =>
      Object.hasOwn(members, name) ? Reflect.get(members, name) : Reflect.get(target, name, target),
  });
}
