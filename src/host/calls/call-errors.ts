// What an agent is told of a call that failed.
import { createMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError, coreErrors, type ErrorTable } from "../../protocol/errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Kernel } from "../kernel.ts";
import type { Sources } from "../sources.ts";

/**
 * Whether the agent may see it: an error of the core, of the capability's own table, or of the one that it names, as a tool
 * of another capability throws. Whatever else a handler throws may be anything.
 */
export function isDeclared(thrown: unknown, own: ErrorTable, { handlersOf }: Kernel): thrown is A2EError {
  try {
    if (!(thrown instanceof A2EError)) return false;
    const { code, capability_name } = thrown;
    const named = handlersOf.get(capability_name)?.[0]?.plugin.capability.errors ?? {};
    return [coreErrors, own, named].some((errors) => Object.hasOwn(errors, code));
  } catch {
    return false;
  }
}

export function internalError(capability_name: string): A2EError {
  return new A2EError("internal_error", "the host could not answer; its log says why", { capability_name });
}

/** An error as a message; without `req_id` where the line it answers had no id. */
export function toErrorMessage(sources: Sources, error: A2EError, req_id: string | undefined): Message {
  const { code, message, retryable, capability_name } = error;
  // A handler's own object, in whatever state: what has no JSON form must show here and not at the peer.
  const fields = { code, message, detail: copyJson(error.detail), retryable, capability_name };
  return createMessage(
    "error",
    sources.nextId(),
    sources.clock.now(),
    req_id === undefined ? fields : { req_id, ...fields },
  );
}
