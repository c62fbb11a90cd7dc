// Calls that a handler makes to other capabilities, or that a session makes in the background. They pass the same gate as
// a message from the wire, run in the slot of the call that made them, and end with it.

import type { CallOptions } from "../../plugin/call-context.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { Kernel } from "../kernel.ts";
import type { Sources } from "../sources.ts";
import { ActiveCall, type CallOwner, type CallParent, type RequestEntry } from "./active-call.ts";
import type { Gate } from "./gate.ts";

/** The part of the call runner that nested calls use. */
export interface NestedPort extends CallOwner {
  readonly sources: Sources;
  readonly gate: Gate;
  run(call: ActiveCall): void;
  endWithError(call: ActiveCall, error: A2EError): void;
}

/** Starts a call. Returns its result if the handler is synchronous, else a promise. Throws an A2EError. */
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
  const call = createCall(port, parent, entry, parsed, options);
  if (options.timeoutMs !== undefined) call.limitTime(options.timeoutMs);
  return start(port, parent, call, options.signal);
}

function createCall(
  port: NestedPort,
  parent: CallParent,
  entry: RequestEntry,
  request: JsonObject,
  { id, onEvent }: CallOptions,
): ActiveCall {
  const call = new ActiveCall(port, entry, id ?? port.sources.nextId(), request, 0, parent, onEvent);
  call.hasChosenId = id !== undefined;
  return call;
}

function start(
  port: NestedPort,
  parent: CallParent,
  call: ActiveCall,
  signal: AbortSignal | undefined,
): JsonObject | Promise<JsonObject> {
  const release = signal === undefined ? undefined : endWith(port, signal, call);
  runWithin(parent, port, call);
  return outcomeOf(call, release);
}

function outcomeOf(call: ActiveCall, release: (() => void) | undefined): JsonObject | Promise<JsonObject> {
  const { outcome } = call;
  if (outcome === undefined) return waitFor(call, release);
  release?.();
  if (outcome instanceof A2EError) throw outcome;
  return outcome;
}

/** A call that does not end synchronously becomes a child of its parent. */
function runWithin(parent: CallParent, port: NestedPort, call: ActiveCall): void {
  const isFirst = parent.running === undefined;
  if (isFirst) parent.running = call;
  else addChild(parent, call);
  port.run(call);
  if (!isFirst) return;
  parent.running = undefined;
  if (!call.isEnded) addChild(parent, call);
}

function addChild(parent: CallParent, call: ActiveCall): void {
  parent.children ??= new Set();
  parent.children.add(call);
}

function waitFor(call: ActiveCall, release: (() => void) | undefined): Promise<JsonObject> {
  const later = new Promise<JsonObject>((resolve, reject) => {
    call.onOutcome = (outcome) => {
      release?.();
      if (outcome instanceof A2EError) reject(outcome);
      else resolve(outcome);
    };
  });
  // If the handler does not await the promise, an unhandled rejection would end the process.
  later.catch(() => {});
  return later;
}

export function endedWithCaller(): A2EError {
  return new A2EError("cancelled", "the call that made this one has ended");
}

function endWith(port: NestedPort, signal: AbortSignal, call: ActiveCall): () => void {
  const stop = () => port.endWithError(call, new A2EError("cancelled", "cancelled by its caller"));
  signal.addEventListener("abort", stop, { once: true });
  return () => signal.removeEventListener("abort", stop);
}

/** Checks the gate, as for a message from the wire, and `maxCallDepth`. Throws an A2EError. */
export function admit(
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
  const objection = port.gate.objection(entry, true);
  if (objection !== undefined) throw objection;
  return entry;
}
