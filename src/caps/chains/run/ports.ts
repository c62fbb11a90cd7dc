// A run's way to its session: through the request that waits for it, or through the session itself once that is gone.
import type { CallContext } from "../../../host/call-context.ts";
import type { SessionContext } from "../../../host/plugin.ts";
import { chains } from "../protocol.ts";
import type { RunPort } from "./run-port.ts";
import { createStartTimer } from "./waiting.ts";

export interface SessionPort extends RunPort {
  /** The run is over: what it has begun ends as well. */
  close(): void;
}

type Common = Pick<RunPort, "ask" | "callBeside" | "hasTool" | "now" | "random" | "startTimer">;

function commonOf(context: SessionContext, chain_id: string, run_id: string): Common {
  return {
    callBeside: (type, request, id) => context.call(type, request, id === undefined ? {} : { id }),
    ask: (request, options) => context.ask(chains.asks.approve, { chain_id, run_id, ...request }, options),
    hasTool: (name) => context.tools.get(name) !== undefined,
    now: () => context.clock.now(),
    random: () => context.random(),
    startTimer: createStartTimer(context),
  };
}

/** Calls end with the request that they belong to, so that nothing has to be told to stop. */
export function createRequestPort(context: SessionContext, call: CallContext, chain_id: string): SessionPort {
  const { callNow } = call;
  return {
    ...commonOf(context, chain_id, call.id),
    call: (type, request, options) => callNow(type, request, options),
    get isEnded() {
      return call.isEnded;
    },
    close() {},
  };
}

/** Nobody waits for it: what it has begun is stopped by its own signal. */
export function createBackgroundPort(context: SessionContext, chain_id: string, run_id: string): SessionPort {
  const over = new AbortController();
  return {
    ...commonOf(context, chain_id, run_id),
    call(type, request, options) {
      const signal = options.signal === undefined ? over.signal : AbortSignal.any([options.signal, over.signal]);
      return context.call(type, request, { ...options, signal });
    },
    // A session that ends has suspended its runs before it cancels anything.
    isEnded: false,
    close: () => over.abort(),
  };
}
