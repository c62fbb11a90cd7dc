// The services of the host for a running script, in any sandbox.
import type { Charge } from "../../../plugin/usage.ts";
import type { LlmRequest, ScriptEvent } from "./script-messages.ts";

export interface LlmAnswer {
  content: string;
  model: string;
  stop_reason: string;
}

export interface ScriptHost {
  emit(event: ScriptEvent): void;
  /** Rejects with an A2EError whose text the script may see. */
  askLlm(request: LlmRequest): Promise<LlmAnswer>;
  /** Aborted when the call no longer waits for the result. */
  readonly signal: AbortSignal;
  /** See `CallContext`. */
  readonly charge?: Charge | undefined;
}
