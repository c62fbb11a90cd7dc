// The error messages that an agent receives for failed calls.
import { createMessage } from "../../protocol/codec.ts";
import type { Message } from "../../protocol/envelope.ts";
import { A2EError, coreErrors, type ErrorTable } from "../../protocol/errors.ts";
import { copyJson } from "../../protocol/json.ts";
import type { Kernel } from "../kernel.ts";
import type { Sources } from "../sources.ts";

/**
 * Whether the agent may see a thrown error: an A2EError whose code is in the table of the core, of the call's capability, or
 * of the capability that the error names (a nested call of another capability may have failed). Any other thrown value may
 * contain internal details and is answered with `internal_error`.
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

/** Without `req_id` if the line that it answers had no id. */
export function toErrorMessage(sources: Sources, error: A2EError, req_id: string | undefined): Message {
  const { code, message, retryable, capability_name } = error;
  // `detail` is an object of the handler: copying it makes a value without a JSON form fail here and not at the peer.
  const fields = { code, message, detail: copyJson(error.detail), retryable, capability_name };
  return createMessage(
    "error",
    sources.nextId(),
    sources.clock.now(),
    req_id === undefined ? fields : { req_id, ...fields },
  );
}
