// Calls that a handler makes to other capabilities, or that a session makes in the background. They pass the same gate as
// a message from the wire, run in the slot of the call that made them, and end with it.

import type { CallOptions } from "../../plugin/call-context.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Call } from "../../protocol/table/capability.ts";
import type { Kernel } from "../kernel.ts";
import { ActiveCall, type CallOwner, type CallParent, type NestedStarter, type RequestEntry } from "./active-call.ts";
import type { CallAudit } from "./call-audit.ts";
import type { ForbiddenError, Gate } from "./gate.ts";

/** The part of the call runner that nested calls use. */
export interface NestedOwner extends CallOwner {
  run(call: ActiveCall): void;
  /** Whether the work of a call of this capability may run without a call: no interceptor or tap would notice. */
  mayInline(capability: string): boolean;
}

/** The nested calls of one session. */
export class NestedCalls implements NestedStarter {
  readonly #kernel: Pick<Kernel, "registry" | "limits">;
  readonly #owner: NestedOwner;
  readonly #gate: Gate;
  readonly #audit: CallAudit;

  constructor(kernel: Pick<Kernel, "registry" | "limits">, owner: NestedOwner, gate: Gate, audit: CallAudit) {
    this.#kernel = kernel;
    this.#owner = owner;
    this.#gate = gate;
    this.#audit = audit;
  }

  start(
    parent: CallParent,
    table: Call | string,
    request: JsonObject,
    { id, signal, timeoutMs, onEvent }: CallOptions = {},
  ): JsonObject | Promise<JsonObject> {
    const entry = this.#admit(parent, typeof table === "string" ? table : table.type, signal);
    const parsed = entry.call.parseRequest(request, entry.capability.name);
    if (parsed instanceof A2EError) throw parsed;
    const forbidden = this.#gate.forbids(entry, parsed);
    if (forbidden !== undefined) throw this.#refused(entry, forbidden);
    const nested = { parent, onEvent, hasChosenId: id !== undefined, outcome: undefined, onOutcome: undefined };
    const call = new ActiveCall(this.#owner, entry, id ?? this.#owner.scope.sources.nextId(), parsed, 0, nested);
    call.traceparent = call.caller?.traceparent;
    if (timeoutMs !== undefined) call.limitTime(timeoutMs);
    const release = signal === undefined ? undefined : this.#endWith(signal, call);
    this.#runWithin(parent, call);
    return outcomeOf(call, release);
  }

  inline<Result>(parent: ActiveCall, type: string, work: () => Result | undefined): Result | undefined {
    const { capability } = this.#admit(parent, type, undefined);
    if (!this.#owner.mayInline(capability.name)) return undefined;
    const result = work();
    if (result !== undefined) parent.nestedCalls += 1;
    return result;
  }

  /** Checks the gate, as for a message from the wire, and `maxCallDepth`. Throws an A2EError. */
  #admit(parent: CallParent, type: string, signal: AbortSignal | undefined): RequestEntry {
    const { registry, limits } = this.#kernel;
    const entry = registry.get(type);
    if (entry?.kind !== "request")
      throw new A2EError("unknown_type", `no capability of this host has a message "${type}"`);
    if (parent.isEnded || signal?.aborted === true) throw new A2EError("cancelled", "cancelled by its caller");
    if (parent.depth >= limits.maxCallDepth)
      throw new A2EError("runtime_error", `calls are nested deeper than ${limits.maxCallDepth}`, { retryable: false });
    const objection = this.#gate.objection(entry, true);
    if (objection !== undefined) throw objection;
    return entry;
  }

  #refused({ call: { type }, capability }: RequestEntry, error: ForbiddenError): A2EError {
    const about = { type, capability: capability.name, id: "", bytesIn: 0 };
    this.#audit.refused(this.#owner.scope.sources.clock.now(), about, error, undefined);
    return error;
  }

  #endWith(signal: AbortSignal, call: ActiveCall): () => void {
    const stop = () => this.#owner.endWithError(call, new A2EError("cancelled", "cancelled by its caller"));
    signal.addEventListener("abort", stop, { once: true });
    return () => signal.removeEventListener("abort", stop);
  }

  /** A call that does not end synchronously becomes a child of its parent. */
  #runWithin(parent: CallParent, call: ActiveCall): void {
    const isFirst = parent.running === undefined;
    if (isFirst) parent.running = call;
    else addChild(parent, call);
    this.#owner.run(call);
    if (!isFirst) return;
    parent.running = undefined;
    if (!call.isEnded) addChild(parent, call);
  }
}

function addChild(parent: CallParent, call: ActiveCall): void {
  parent.children ??= new Set();
  parent.children.add(call);
}

function outcomeOf({ nested }: ActiveCall, release: (() => void) | undefined): JsonObject | Promise<JsonObject> {
  const outcome = nested?.outcome;
  if (outcome !== undefined) {
    release?.();
    if (outcome instanceof A2EError) throw outcome;
    return outcome;
  }
  const later = new Promise<JsonObject>((resolve, reject) => {
    if (nested === undefined) return;
    nested.onOutcome = (ended) => {
      release?.();
      if (ended instanceof A2EError) reject(ended);
      else resolve(ended);
    };
  });
  // If the handler does not await the promise, an unhandled rejection would end the process.
  later.catch(() => {});
  return later;
}

/** The calls that were made by a call, or in the background, and have not ended. */
export function unendedCalls({ children, running }: CallParent): ActiveCall[] {
  return [...(children ?? []), ...(running === undefined ? [] : [running])];
}
