// Recorded steps of one session, and the rewards that its agent reported for them.

import type { SessionState } from "../../../plugin/session-state.ts";
import { envLimits } from "../limits.ts";
import type { Experience } from "../protocol.ts";
import { RecordLog } from "./record-log.ts";

/** Refers to the experience by its number: after an autoreset, an episode has the same step number again. */
type Feedback = { number: number; reward: number };

export interface ExperiencePage {
  readonly lines: string[];
  /** The cursor of the next page; null on the last page. */
  readonly next: number | null;
}

export class Experiences {
  readonly #experiences: RecordLog<Experience>;
  readonly #feedback: RecordLog<Feedback>;

  constructor(state: SessionState, max: number) {
    this.#experiences = new RecordLog(state, "experience", max);
    this.#feedback = new RecordLog(state, "feedback", envLimits.maxFeedback);
  }

  add(experience: Experience): void {
    this.#experiences.add(experience);
  }

  /** The number of the last recorded step of an episode, or 0. */
  lastStepOf(episode_id: string): number {
    for (const [, { step_num }] of this.#newestFirst(episode_id)) return step_num;
    return 0;
  }

  /** Stores a reward reported by the agent for a recorded step. A step that was not recorded is ignored. */
  addFeedback(episode_id: string, step_num: number, reward: number): void {
    for (const [number, experience] of this.#newestFirst(episode_id)) {
      if (experience.step_num !== step_num) continue;
      this.#feedback.add({ number, reward });
      return;
    }
  }

  /**
   * The newest experiences of an episode or of the session, newest last: at most `limit`, and at most as many as fit
   * into one answer.
   */
  list(episode_id: string, limit: number): { experiences: Experience[]; total: number } {
    const withFeedback = this.#withFeedback();
    const newest: Experience[] = [];
    let total = 0;
    let room: number = envLimits.maxAnswerBytes;
    for (const [number, recorded] of this.#newestFirst(episode_id)) {
      total += 1;
      if (newest.length >= limit || room <= 0) continue;
      const experience = withFeedback(number, recorded);
      room -= Buffer.byteLength(JSON.stringify(experience));
      if (room >= 0 || newest.length === 0) newest.push(experience);
    }
    return { experiences: newest.reverse(), total };
  }

  /** A page of NDJSON, oldest first. */
  page(episode_id: string, cursor: number, limit: number): ExperiencePage {
    const withFeedback = this.#withFeedback();
    const lines: string[] = [];
    let room: number = envLimits.maxAnswerBytes;
    for (let number = Math.max(this.#experiences.oldest, cursor); number < this.#experiences.next; number++) {
      const recorded = this.#experiences.at(number);
      if (recorded === undefined || !isOf(recorded, episode_id)) continue;
      const line = `${JSON.stringify(withFeedback(number, recorded))}\n`;
      room -= Buffer.byteLength(line);
      if (lines.length === limit || (room < 0 && lines.length > 0)) return { lines, next: number };
      lines.push(line);
    }
    return { lines, next: null };
  }

  fork(forked: SessionState): void {
    this.#experiences.fork(forked);
    this.#feedback.fork(forked);
  }

  /** Appends the experiences of a fork in their order and returns how many. */
  merge(fork: SessionState): number {
    const numbers = new Map<number, number>();
    for (const { number, item } of this.#experiences.takeFrom(fork)) numbers.set(number, this.#experiences.add(item));
    for (const { item } of this.#feedback.takeFrom(fork))
      this.#feedback.add({ ...item, number: numbers.get(item.number) ?? item.number });
    return numbers.size;
  }

  *#newestFirst(episode_id: string): Generator<[number: number, experience: Experience]> {
    for (let number = this.#experiences.next - 1; number >= this.#experiences.oldest; number--) {
      const experience = this.#experiences.at(number);
      if (experience !== undefined && isOf(experience, episode_id)) yield [number, experience];
    }
  }

  #withFeedback(): (number: number, experience: Experience) => Experience {
    const rewards = new Map<number, number[]>();
    for (let at = this.#feedback.oldest; at < this.#feedback.next; at++) {
      const given = this.#feedback.at(at);
      if (given === undefined) continue;
      const known = rewards.get(given.number);
      if (known === undefined) rewards.set(given.number, [given.reward]);
      else known.push(given.reward);
    }
    return (number, experience) => {
      const feedback = rewards.get(number);
      return feedback === undefined ? experience : { ...experience, feedback };
    };
  }
}

function isOf(experience: Experience, episode_id: string): boolean {
  return episode_id === "" || experience.episode_id === episode_id;
}
