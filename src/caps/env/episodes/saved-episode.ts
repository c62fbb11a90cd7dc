import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

/** A complete episode as JSON. */
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
  /** Why the state could not be saved; `state` is null then. */
  problem?: string;
};

/** The key of an episode in the state of the session. */
export function keyOf(id: string): string {
  return `episode/${id}`;
}
