import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

/** An episode at rest: JSON, and all of it. */
export type SavedEpisode = {
  env_name: string;
  seed: number;
  options: JsonObject;
  is_recorded: boolean;
  step_num: number;
  reward: number | null;
  total_reward: number;
  done: boolean;
  truncated: boolean;
  info: JsonObject;
  random: number[];
  state: JsonValue;
  /** Why the state could not be written; there is none then. */
  problem?: string;
};

/** Under which the session's state has an episode. */
export function keyOf(id: string): string {
  return `episode/${id}`;
}
