// The sessions that a server works for. They decide which agent its requests are for, and whether it is busy.
import { mcpLimits } from "../limits.ts";

export class Callers {
  readonly #now: () => number;
  /** Number of calls in progress, by session. */
  readonly #underWay = new Map<string, number>();
  /** Sessions that left a call which the server may continue, each with the time until which to expect that. */
  readonly #unanswered = new Map<string, number>();
  readonly #tasks = new Map<string, string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Calls in progress. */
  get count(): number {
    return [...this.#underWay.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Counts a call until the returned function is called, with whether the server has answered it. */
  begin(sessionId: string): (isAnswered: boolean) => void {
    this.#underWay.set(sessionId, (this.#underWay.get(sessionId) ?? 0) + 1);
    return (isAnswered) => {
      const left = (this.#underWay.get(sessionId) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(sessionId);
      else this.#underWay.set(sessionId, left);
      if (!isAnswered) this.#unanswered.set(sessionId, this.#now() + mcpLimits.unansweredMs);
    };
  }

  /** Records the session of a task until the returned function is called. */
  own(taskId: string, sessionId: string): () => void {
    this.#tasks.set(taskId, sessionId);
    return () => void this.#tasks.delete(taskId);
  }

  ownerOf(taskId: string): string | undefined {
    return this.#tasks.get(taskId);
  }

  /** All sessions that the server may be working for. */
  sessions(): ReadonlySet<string> {
    const now = this.#now();
    for (const [id, until] of this.#unanswered) if (until <= now) this.#unanswered.delete(id);
    return new Set([...this.#underWay.keys(), ...this.#unanswered.keys()]);
  }

  /** For a new connection: the server behind it does not have the calls of the last connection. */
  forgetUnanswered(): void {
    this.#unanswered.clear();
  }
}
