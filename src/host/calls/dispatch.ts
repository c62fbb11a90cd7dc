// Calls the interceptors of the host and the plugins that handle a call.

import type { CallContext } from "../../plugin/call-context.ts";
import type { CheckedResult } from "../../plugin/checked-result.ts";
import type { SessionPart } from "../../plugin/plugin.ts";
import { isThenable } from "../../protocol/awaitable.ts";
import { A2EError } from "../../protocol/errors.ts";
import { copyJson, type JsonObject } from "../../protocol/json.ts";
import { ActiveCall } from "./active-call.ts";
import { HandlerContext } from "./handler-context.ts";
import type { CallFn, InterceptedCall, Interceptor } from "./interceptors.ts";

type Outcome = JsonObject | CheckedResult<JsonObject> | undefined;
type Handler = (request: JsonObject, context: CallContext) => Outcome | Promise<Outcome>;

/** The result of the call, or undefined if every plugin declined. Synchronous if the only handler is. */
export function dispatch(parts: readonly SessionPart[], call: ActiveCall): Outcome | Promise<Outcome> {
  const [only] = parts;
  if (only === undefined) throw new A2EError("capability_missing", `no plugin serves "${call.entry.capability.name}"`);
  const context = new HandlerContext(call);
  return parts.length === 1 ? toNative(invoke(only, call, call.request, context)) : broadcast(parts, call, context);
}

const declined = Symbol("declined");

/** Calls all plugins in order; the first result is the answer. Throws the first error only if there is no result. */
async function broadcast(parts: readonly SessionPart[], call: ActiveCall, context: CallContext): Promise<Outcome> {
  // Each plugin gets its own copy: changes that a plugin makes to the request must not affect the others.
  const outcomes = parts.map(
    async (part) => (await invoke(part, call, copyJson(call.request), context)) ?? Promise.reject(declined),
  );
  try {
    return await Promise.any(outcomes);
  } catch (all) {
    const errors = (all as AggregateError).errors.filter((error) => error !== declined);
    if (errors.length > 0) throw errors[0];
    return undefined;
  }
}

function invoke(
  part: SessionPart,
  call: ActiveCall,
  request: JsonObject,
  context: CallContext,
): Outcome | Promise<Outcome> {
  const handlers = part.handlers as unknown as Record<string, Handler>;
  return (handlers[call.entry.name] as Handler)(request, context);
}

/** Converts a promise of another realm or library to a native promise; returns other values unchanged. */
export function toNative(value: Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
  if (value instanceof Promise) return value;
  return isThenable(value) ? Promise.resolve(value as PromiseLike<Outcome>) : value;
}

/** The first interceptor is the outermost. Undefined if there are none, so that calls have no overhead. */
export function composeInterceptors(interceptors: readonly Interceptor[] = []): CallFn | undefined {
  if (interceptors.length === 0) return undefined;
  return interceptors.reduceRight<CallFn>((next, interceptor) => interceptor(next), runHandlers);
}

function runHandlers(call: InterceptedCall): JsonObject | Promise<JsonObject> {
  if (!(call instanceof ActiveCall)) throw new TypeError("an interceptor must give `next` the call that it was given");
  // The call may have timed out while an interceptor was running.
  if (call.isEnded) throw new A2EError("cancelled", "the call has ended");
  return call.owner.handle(call);
}
