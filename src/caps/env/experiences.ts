// Recorded steps of one session, kept in its state: so they survive a restart, are part of its snapshots, and a fork has
// them too. Written in chunks, since a value that grew with each step would be written again with each step.
import type { SessionState } from "../../host/session-state.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { envLimits } from "./limits.ts";
import type { Experience } from "./protocol.ts";

const chunkSize = 32;
const indexKey = "experiences";
const feedbackKey = "feedback";

type Index = { first: number; next: number };
type Feedback = { episode_id: string; step_num: number; reward: number };

export class Experiences {
  readonly #state: SessionState;
  readonly #max: number;
  /** Number of the oldest chunk, and of the experience that comes next. */
  #index: Index;
  #chunk: Experience[];

  constructor(state: SessionState, max: number) {
    this.#state = state;
    this.#max = max;
    this.#index = { ...((state.get(indexKey) as Index | undefined) ?? { first: 0, next: 0 }) };
    this.#chunk = [...this.#chunkAt(this.#lastChunk)];
  }

  add(experience: Experience): void {
    const key = keyOf(this.#lastChunk);
    this.#chunk.push(experience);
    this.#index.next += 1;
    if (this.#chunk.length < chunkSize) {
      const chunk = this.#chunk;
      this.#state.setLive(key, () => [...chunk] as unknown as JsonValue);
    } else {
      this.#state.set(key, this.#chunk as unknown as JsonValue);
      this.#chunk = [];
    }
    while (this.#index.next - this.#index.first * chunkSize >= this.#max + chunkSize) {
      this.#state.delete(keyOf(this.#index.first));
      this.#index.first += 1;
    }
    this.#state.setLive(indexKey, () => ({ ...this.#index }));
  }

  /** A reward of the agent's own, kept beside the environment's. */
  addFeedback(feedback: Feedback): void {
    const known = (this.#state.get(feedbackKey) as Feedback[] | undefined) ?? [];
    this.#state.set(feedbackKey, [...known, feedback].slice(-envLimits.maxFeedback));
  }

  /** All of an episode, or of the session, oldest first, with the number of each. */
  *all(episode_id: string, from = 0): Generator<[number: number, experience: Experience]> {
    const feedback = (this.#state.get(feedbackKey) as Feedback[] | undefined) ?? [];
    const oldest = Math.max(this.#index.first * chunkSize, this.#index.next - this.#max);
    let number = Math.max(oldest, from);
    while (number < this.#index.next) {
      const experience = this.#at(number);
      if (experience !== undefined && (episode_id === "" || experience.episode_id === episode_id))
        yield [number, withFeedback(experience, feedback)];
      number += 1;
    }
  }

  #at(number: number): Experience | undefined {
    const chunk = Math.floor(number / chunkSize);
    return (chunk === this.#lastChunk ? this.#chunk : this.#chunkAt(chunk))[number % chunkSize];
  }

  #chunkAt(chunk: number): readonly Experience[] {
    return (this.#state.get(keyOf(chunk)) as unknown as Experience[] | undefined) ?? [];
  }

  get #lastChunk(): number {
    return Math.floor(this.#index.next / chunkSize);
  }
}

function keyOf(chunk: number): string {
  return `experience/${chunk}`;
}

function withFeedback(experience: Experience, feedback: readonly Feedback[]): Experience {
  const { episode_id, step_num } = experience;
  const own = feedback.filter((given) => given.episode_id === episode_id && given.step_num === step_num);
  return own.length === 0 ? experience : { ...experience, feedback: own.map(({ reward }) => reward) };
}
