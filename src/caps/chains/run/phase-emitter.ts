// Events about nodes, with the times for a drawing of the run.
import type { Clock } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import type { Followers } from "./followers.ts";
import type { EmitPhase } from "./run-port.ts";

export function createPhaseEmitter(clock: Clock, startedAt: number, followers: Followers): EmitPhase {
  const starts = new Map<string, number>();
  return (node_id, phase, fields) => {
    const now = clock.now();
    if (phase === "start") starts.set(node_id, now);
    const begun = starts.get(node_id);
    const times: JsonObject = { at_ms: Math.round(now - startedAt) };
    if (begun !== undefined && phase !== "start" && phase !== "event") times.duration_ms = Math.round(now - begun);
    followers.tell({ node_id, phase, output: null, error: "", ...times, ...fields });
  };
}
