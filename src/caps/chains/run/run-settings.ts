// What one run is made of.
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
  /** Where somebody follows it. */
  readonly emit: EmitPhase | undefined;
  /** The run was given up without an outcome. */
  onGone(): void;
}
