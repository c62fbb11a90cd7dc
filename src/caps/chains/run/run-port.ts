// The functions of the session that a run uses.
import type { CallOptions } from "../../../plugin/call-context.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { NodeError } from "./nodes/node-error.ts";
import type { OutputReference } from "./output-store.ts";

export type Awaitable<Value> = Value | Promise<Value>;

export interface ApprovalRequest {
  node_id: string;
  message: string;
  data: JsonObject;
}

export interface Approval {
  approved: boolean;
  comment: string;
  data?: JsonObject | undefined;
}

export interface RunPort {
  /** Whether the request of the run was already answered, because it was cancelled or timed out. */
  readonly isEnded: boolean;
  call(type: string, request: JsonObject, options: CallOptions): Awaitable<JsonObject>;
  /** The data of a pure tool, without a call of its own; undefined if the tool has to be called. */
  runPure(name: string, args: JsonObject): JsonValue | undefined;
  /** Like `call`, but continues after the run has ended. */
  callBeside(type: string, request: JsonObject, id?: string): Promise<JsonObject>;
  ask(request: ApprovalRequest, options: { signal: AbortSignal; timeoutMs?: number }): Promise<Approval>;
  /** Whether the session has a tool of this name; any other name of an action is a skill. */
  hasTool(name: string): boolean;
  now(): number;
  random(): number;
  /** Calls back once after this time, unless the returned function is called before. */
  startTimer(ms: number, callback: () => void): () => void;
}

/** The recorded result of a node, or of an item of a map. */
export type Recorded =
  | { readonly output: JsonValue; readonly errors?: JsonObject }
  | { readonly reference: OutputReference; readonly errors?: JsonObject }
  | { readonly error: NodeError };

/**
 * Records the results of a run, so that another process can resume it. A key is the index of a node, or of a node and
 * an item.
 */
export interface RunJournal {
  /** Whether another process started the run: then results may be recorded. */
  readonly isResumed: boolean;
  recall(key: string): Recorded | undefined;
  /** The run does not end at once: from now on it is recorded. */
  open(): void;
  note(key: string, recorded: Recorded): void;
  /** The run has ended: deletes its records. */
  clear(): void;
}

/** Sends an event to the requests that follow the run. */
export type EmitPhase = (
  node_id: string,
  phase: "start" | "done" | "skip" | "error" | "event",
  fields: JsonObject,
) => void;
