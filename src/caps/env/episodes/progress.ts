// The step count, the rewards and the end of an episode.
import { copyJson, isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import type { StepResult } from "../define-env.ts";
import type { SavedEpisode } from "./saved-episode.ts";

type SavedProgress = Pick<SavedEpisode, "step_num" | "reward" | "total_reward" | "done" | "truncated" | "info">;

export class Progress {
  stepNum = 0;
  done = false;
  truncated = false;
  /** The reward of the last step; null if it was not a finite number. */
  reward: number | null = 0;
  totalReward = 0;
  info: JsonObject = {};

  static from(saved: SavedProgress): Progress {
    const progress = new Progress();
    progress.stepNum = saved.step_num;
    progress.done = saved.done;
    progress.truncated = saved.truncated;
    progress.reward = saved.reward;
    progress.totalReward = saved.total_reward;
    progress.info = saved.info;
    return progress;
  }

  get isCompleted(): boolean {
    return this.done || this.truncated;
  }

  /**
   * Counts a step, which may be the last. Throws without changing anything if the step's `info` is not a JSON object.
   */
  advance(result: StepResult<unknown>, maxSteps: number): void {
    const info = toInfo(result.info);
    const reward = result.reward ?? 0;
    this.stepNum += 1;
    this.reward = Number.isFinite(reward) ? reward : null;
    this.totalReward += this.reward ?? 0;
    this.done = result.done === true;
    this.truncated = result.truncated === true || this.stepNum >= maxSteps;
    this.info = info;
  }

  save(): SavedProgress {
    return { ...this.saveNumbers(), info: copyJson(this.info) };
  }

  /** The fields that are always valid JSON. */
  saveNumbers(): Omit<SavedProgress, "info"> {
    return {
      step_num: this.stepNum,
      reward: this.reward,
      total_reward: this.totalReward,
      done: this.done,
      truncated: this.truncated,
    };
  }
}

const noInfo: JsonObject = {};

/** Copied, since an environment may return the same object with each step. */
function toInfo(given: JsonObject | undefined): JsonObject {
  if (given === undefined || given === null) return noInfo;
  const info = copyJson(given);
  if (!isJsonObject(info)) throw new Error("its info is not an object");
  return info;
}
