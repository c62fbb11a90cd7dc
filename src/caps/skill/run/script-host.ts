// What the host does for a running script, whichever sandbox it runs in.
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
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
}
