// The settings of one run.
import type { JsonObject } from "../../../protocol/json.ts";
import type { Plan } from "../plan/plan.ts";
import type { OutputStore } from "./output-store.ts";
import type { EmitPhase, RunJournal, RunPort } from "./run-port.ts";

export interface RunSettings {
  readonly runId: string;
  readonly plan: Plan;
  readonly input: JsonObject;
  readonly maxParallel: number;
  readonly maxItems: number;
  readonly maxRunItems: number;
  readonly maxInlineBytes: number;
  readonly maxAnswerBytes: number;
  readonly port: RunPort;
  readonly journal: RunJournal;
  readonly outputs: OutputStore;
  /** Undefined if the request does not want events. */
  readonly emit: EmitPhase | undefined;
  /** The run ended without an outcome. */
  onGone(): void;
}
