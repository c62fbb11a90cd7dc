// Where an episode stands: how far it has come, what it got for that, and whether it is over.
import { copyJson, isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import type { StepResult } from "../define-env.ts";
import type { SavedEpisode } from "./saved-episode.ts";

type SavedProgress = Pick<SavedEpisode, "step_num" | "reward" | "total_reward" | "done" | "truncated" | "info">;

export class Progress {
  stepNum = 0;
  done = false;
  truncated = false;
  /** Of the last step; null where that was no number. */
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

  /** A step was taken, which may have been the last. Throws, and changes nothing, where its info is none. */
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

  /** What of it can always be written. */
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

/** A copy: an environment may use the same object with each step. */
function toInfo(given: JsonObject | undefined): JsonObject {
  if (given === undefined || given === null) return noInfo;
  const info = copyJson(given);
  if (!isJsonObject(info)) throw new Error("its info is no object");
  return info;
}
