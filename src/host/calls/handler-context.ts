// The CallContext that a handler gets with each request.

import type { CallContext, CallOptions, CallOther, SessionInfo } from "../../plugin/call-context.ts";
import type { Logger } from "../../plugin/logger.ts";
import { toPromise } from "../../protocol/awaitable.ts";
import type { Clock } from "../../protocol/envelope.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { ActiveCall } from "./active-call.ts";
import { sendEvent } from "./call-events.ts";

/** The getters of functions return bound functions, so handlers may destructure their context. Created on use. */
export class HandlerContext implements CallContext {
  readonly #call: ActiveCall;

  constructor(call: ActiveCall) {
    this.#call = call;
  }

  get id(): string {
    return this.#call.id;
  }
  get session(): SessionInfo {
    return this.#call.owner.scope.session;
  }
  get log(): Logger {
    return this.#call.owner.scope.log;
  }
  get clock(): Clock {
    return this.#call.owner.scope.sources.clock;
  }
  get startedAt(): number {
    return this.#call.startedAt;
  }
  get signal(): AbortSignal {
    return this.#call.signal;
  }
  get traceparent(): string | undefined {
    return this.#call.traceparent;
  }
  get isEnded(): boolean {
    return this.#call.isEnded;
  }
  get emit(): CallContext["emit"] {
    return (kind, data) => {
      if (!this.#call.isEnded) sendEvent(this.#call, kind, data);
    };
  }
  get setTimeout(): CallContext["setTimeout"] {
    return (timeoutMs) => this.#call.limitTime(timeoutMs);
  }
  get charge(): CallContext["charge"] {
    const { charge, session } = this.#call.owner.scope;
    return charge && ((unit, amount) => charge(session.principal, unit, amount));
  }
  get call(): CallOther {
    return ((call: Call | string, request: JsonObject, options?: CallOptions) =>
      toPromise(() => this.callNow(call as string, request, options))) as CallOther;
  }
  get callNow(): CallContext["callNow"] {
    return (type, request, options) => this.#call.owner.nested.start(this.#call, type, request, options);
  }
  get inlineCall(): CallContext["inlineCall"] {
    return (type, work) => this.#call.owner.nested.inline(this.#call, type, work);
  }
}
