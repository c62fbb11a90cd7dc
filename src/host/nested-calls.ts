// Calls that a handler makes of other capabilities, or a session in the background: through the same gate as a message
// from the wire, within the slot of the call that made them, and ended with it.
import type { Call } from "../protocol/capability.ts";
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import { ActiveCall, type CallOwner, type CallParent, type NestedCall, type RequestEntry } from "./active-call.ts";
import type { CallOptions } from "./call-context.ts";
import type { Kernel } from "./kernel.ts";
import type { Sources, Tape } from "./recording/tape.ts";

/** What nested calls need of the runner. */
export interface NestedPort extends CallOwner {
  readonly sources: Sources;
  readonly tape: Tape | undefined;
  refuse(entry: RequestEntry): A2EError | undefined;
  run(call: ActiveCall): void;
  endWithError(call: ActiveCall, error: A2EError): void;
}

/** What came of the call, at once or later. */
class Outcome implements NestedCall {
  readonly parent: CallParent;
  readonly onEvent: CallOptions["onEvent"];
  readonly scope: string | undefined;
  /** Stops listening to the caller's signal. */
  release: (() => void) | undefined;
  #settled: JsonObject | A2EError | undefined;
  #waiting: { resolve(result: JsonObject): void; reject(error: A2EError): void } | undefined;

  constructor(parent: CallParent, onEvent: CallOptions["onEvent"], scope: string | undefined) {
    this.parent = parent;
    this.onEvent = onEvent;
    this.scope = scope;
  }

  resolve(result: JsonObject): void {
    this.release?.();
    if (this.#waiting === undefined) this.#settled = result;
    else this.#waiting.resolve(result);
  }

  reject(error: A2EError): void {
    this.release?.();
    if (this.#waiting === undefined) this.#settled = error;
    else this.#waiting.reject(error);
  }

  take(): JsonObject | Promise<JsonObject> {
    const settled = this.#settled;
    if (settled instanceof A2EError) throw settled;
    if (settled !== undefined) return settled;
    const later = new Promise<JsonObject>((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
    // A handler that does not wait for it has no use for its error, and an unhandled one would end the process.
    later.catch(() => {});
    return later;
  }
}

/** Starts a call and returns its result where the handler has it at once, else a promise. Throws an A2EError. */
export function startNested(
  kernel: Kernel,
  port: NestedPort,
  parent: CallParent,
  table: Call | string,
  request: JsonObject,
  options: CallOptions = {},
): JsonObject | Promise<JsonObject> {
  const entry = admit(kernel, port, parent, typeof table === "string" ? table : table.type, options.signal);
  const parsed = entry.call.parseRequest(request, entry.capability.name);
  if (parsed instanceof A2EError) throw parsed;
  const isNamed = options.id !== undefined && port.tape !== undefined;
  const outcome = new Outcome(parent, options.onEvent, isNamed ? port.sources.nextId() : undefined);
  const call = new ActiveCall(port, entry, options.id ?? port.sources.nextId(), parsed, 0, outcome);
  if (options.timeoutMs !== undefined) call.limitTime(options.timeoutMs);
  if (options.signal !== undefined) endWith(port, options.signal, call, outcome);
  parent.children ??= new Set();
  parent.children.add(call);
  port.run(call);
  return outcome.take();
}

function endWith(port: NestedPort, signal: AbortSignal, call: ActiveCall, outcome: Outcome): void {
  const stop = () => port.endWithError(call, new A2EError("cancelled", "cancelled by its caller"));
  outcome.release = () => signal.removeEventListener("abort", stop);
  signal.addEventListener("abort", stop, { once: true });
}

/** The same gate as for a message from the wire, and an end to calls that call themselves. */
function admit(
  { registry, limits }: Kernel,
  port: NestedPort,
  parent: CallParent,
  type: string,
  signal: AbortSignal | undefined,
): RequestEntry {
  const entry = registry.get(type);
  if (entry?.kind !== "request")
    throw new A2EError("unknown_type", `no capability of this host has a message "${type}"`);
  if (parent.isEnded || signal?.aborted === true) throw new A2EError("cancelled", "cancelled by its caller");
  if (parent.depth >= limits.maxCallDepth)
    throw new A2EError("runtime_error", `calls are nested deeper than ${limits.maxCallDepth}`, { retryable: false });
  const refusal = port.refuse(entry);
  if (refusal !== undefined) throw refusal;
  return entry;
}
