// How a call has ended, for metrics and traces.
import type { CallFn, InterceptedCall, Interceptor } from "../host/calls/interceptors.ts";
import { A2EError } from "../protocol/errors.ts";

/** Called when a call begins. The returned function is called once, when the call ends. */
export type ObserveCall = (call: InterceptedCall) => CallObservation;

export interface CallObservation {
  /** Runs the rest of the call, for example in a context of its own. */
  run?<Result>(next: () => Result): Result;
  /** `code` is the code of the error, or `ok`. */
  ended(code: string): void;
}

/** A call that answers at once stays synchronous. */
export function observeCalls(observe: ObserveCall): Interceptor {
  return (next: CallFn): CallFn =>
    (call) => {
      const observation = observe(call);
      let result: ReturnType<CallFn>;
      try {
        result = observation.run === undefined ? next(call) : observation.run(() => next(call));
      } catch (error) {
        observation.ended(codeOf(error));
        throw error;
      }
      if (!(result instanceof Promise)) {
        observation.ended("ok");
        return result;
      }
      let isEnded = false;
      const end = (code: string) => {
        if (!isEnded) observation.ended(code);
        isEnded = true;
      };
      // A call that times out or is cancelled is answered now, and its handler may never return.
      call.signal.addEventListener("abort", () => end(codeOf(call.signal.reason)), { once: true });
      return result.then(
        (value) => {
          end("ok");
          return value;
        },
        (error: unknown) => {
          end(codeOf(error));
          throw error;
        },
      );
    };
}

function codeOf(error: unknown): string {
  return error instanceof A2EError ? error.code : "internal_error";
}
