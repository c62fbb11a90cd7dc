// What a run needs of the session it belongs to.
import type { CallOptions } from "../../../host/call-context.ts";
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
  /** Whether the request of the run was answered by somebody else, as where it was cancelled or had no time left. */
  readonly isEnded: boolean;
  call(type: string, request: JsonObject, options: CallOptions): Awaitable<JsonObject>;
  /** The data of a pure tool, without a call of its own; undefined if the tool has to be called. */
  runPure(name: string, args: JsonObject): JsonValue | undefined;
  /** As `call`, for what goes on although the run has ended. */
  callBeside(type: string, request: JsonObject, id?: string): Promise<JsonObject>;
  ask(request: ApprovalRequest, options: { signal: AbortSignal; timeoutMs?: number }): Promise<Approval>;
  /** Whether the session has a tool of this name; what else an action names is a skill. */
  hasTool(name: string): boolean;
  now(): number;
  random(): number;
  /** Calls back once when this time is over, unless the returned function is called before. */
  startTimer(ms: number, callback: () => void): () => void;
}

/** What became of a node, or of an item of a map, as it is written down. */
export type Recorded =
  | { readonly output: JsonValue; readonly errors?: JsonObject }
  | { readonly reference: OutputReference; readonly errors?: JsonObject }
  | { readonly error: NodeError };

/** Where a run writes down what has ended, so that another process can go on with it. Keys are a node's number, or that and an item's. */
export interface RunJournal {
  /** Whether another process has begun the run: there may be something to recall. */
  readonly isResumed: boolean;
  recall(key: string): Recorded | undefined;
  /** The run does not end at once: from now on it is written down that there is one. */
  open(): void;
  note(key: string, recorded: Recorded): void;
  /** The run has ended: forgets it. */
  clear(): void;
}

/** Tells whoever follows the run. */
export type EmitPhase = (
  node_id: string,
  phase: "start" | "done" | "skip" | "error" | "event",
  fields: JsonObject,
) => void;
