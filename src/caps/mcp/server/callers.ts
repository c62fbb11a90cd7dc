// For whom a server works: whose questions it can have, and whether it is at work at all.
import { mcpLimits } from "../limits.ts";

export class Callers {
  readonly #now: () => number;
  /** Calls under way, by session. */
  readonly #underWay = new Map<string, number>();
  /** Sessions that gave up a call which the server may go on with, each with the time until which that is to be feared. */
  readonly #unanswered = new Map<string, number>();
  readonly #tasks = new Map<string, string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls under way. */
  get count(): number {
    return [...this.#underWay.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Notes a call until the returned function is called, with whether the server has answered it. */
  begin(sessionId: string): (isAnswered: boolean) => void {
    this.#underWay.set(sessionId, (this.#underWay.get(sessionId) ?? 0) + 1);
    return (isAnswered) => {
      const left = (this.#underWay.get(sessionId) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(sessionId);
      else this.#underWay.set(sessionId, left);
      if (!isAnswered) this.#unanswered.set(sessionId, this.#now() + mcpLimits.unansweredMs);
    };
  }

  /** Notes whose task it is until the returned function is called. */
  own(taskId: string, sessionId: string): () => void {
    this.#tasks.set(taskId, sessionId);
    return () => void this.#tasks.delete(taskId);
  }

  ownerOf(taskId: string): string | undefined {
    return this.#tasks.get(taskId);
  }

  /** All whom the server may be working for. */
  sessions(): ReadonlySet<string> {
    const now = this.#now();
    for (const [id, until] of this.#unanswered) if (until <= now) this.#unanswered.delete(id);
    return new Set([...this.#underWay.keys(), ...this.#unanswered.keys()]);
  }

  /** The server is another one: it knows nothing of what the last one was asked. */
  forgetUnanswered(): void {
    this.#unanswered.clear();
  }
}
