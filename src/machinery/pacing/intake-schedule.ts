// Divides the time of one host among the sessions whose peers send faster than the host can handle.
//
// A turn of the event loop handles received lines for at most `intakeSliceMs`, plus the line that was being handled when
// the slice ended. Lines beyond that wait in the queues of their sessions (`session-intake.ts`). The waiting sessions share
// one slice per turn, in rotation, and between two slices the event loop reads sockets and runs timers.
import { AsyncResource } from "node:async_hooks";
import type { Clock } from "../../protocol/envelope.ts";
import type { Limits } from "../../protocol/limits.ts";

/** A session with waiting lines. */
export interface WaitingIntake {
  /** Handles waiting lines until `isOver()`. Returns whether it wants to be served again in the next turn. */
  serve(isOver: () => boolean): boolean;
}

interface ScheduleOptions {
  limits: Pick<Limits, "intakeSliceMs">;
  clock: Clock;
  /** Calls back in the next turn of the event loop, after sockets were read. */
  nextTurn?(callback: () => void): void;
}

/** How much of a slice a session gets before the next session in rotation is served. */
const shareMs = 1;

export class IntakeSchedule {
  readonly #sliceMs: number;
  readonly #clock: Clock;
  readonly #nextTurn: (callback: () => void) => void;
  /** In the order in which they are served. */
  readonly #waiting = new Set<WaitingIntake>();
  #isUsedUp = false;
  #turn = 0;
  #isArmed = false;
  #halfStartedAt = 0;
  #halfEndsAt = 0;

  constructor({ limits, clock, nextTurn = setImmediate }: ScheduleOptions) {
    this.#sliceMs = limits.intakeSliceMs;
    this.#clock = clock;
    // Bound to the async context of the host: handlers must not run in the context of the call that used up the slice.
    this.#nextTurn = AsyncResource.bind((callback: () => void) => nextTurn(callback));
  }

  /** True if lines have to wait for the next turn. */
  get isUsedUp(): boolean {
    return this.#isUsedUp;
  }

  /** The number of the current slice. */
  get turn(): number {
    return this.#turn;
  }

  /**
   * Reports the time at which the handling of a line began. Node has no event for the start of a turn, and a `setImmediate`
   * per line would cost more than the line. So a callback for the next turn is requested at most once per half slice. If
   * another half slice passes before that callback, both halves belong to one long turn, and the slice is used up.
   */
  note(now: number): void {
    // If the clock was set back, a new half begins.
    if (now >= this.#halfStartedAt && now < this.#halfEndsAt) return;
    this.#beginHalf(now);
    if (this.#isArmed) this.#isUsedUp = true;
    else this.#arm();
  }

  #beginHalf(now: number): void {
    this.#halfStartedAt = now;
    this.#halfEndsAt = now + this.#sliceMs / 2;
  }

  /** Like `note`, for callers that have not read the clock. */
  noteNow(): void {
    this.note(this.#clock.now());
  }

  /** Begins a slice now. The returned function returns whether the slice is over. */
  slice(): () => boolean {
    const startedAt = this.#clock.now();
    return () => this.#clock.now() - startedAt >= this.#sliceMs;
  }

  /** Serves the session from the next turn on, until its `serve` returns false. */
  add(intake: WaitingIntake): void {
    this.#waiting.add(intake);
    this.#arm();
  }

  remove(intake: WaitingIntake): void {
    this.#waiting.delete(intake);
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#nextTurn(this.#run);
  }

  readonly #run = (): void => {
    this.#isArmed = false;
    this.#isUsedUp = false;
    this.#turn += 1;
    if (this.#waiting.size === 0) return;
    const isOver = this.slice();
    for (const intake of this.#waiting) {
      // If it is added again below, this loop reaches it again at the end of the set, unless the slice ends before.
      this.#waiting.delete(intake);
      const shareStartedAt = this.#clock.now();
      const isShareOver = () => isOver() || this.#clock.now() - shareStartedAt >= shareMs;
      if (intake.serve(isShareOver)) this.#waiting.add(intake);
      this.#isUsedUp = isOver();
      if (this.#isUsedUp) break;
    }
    this.#beginHalf(this.#clock.now());
    if (this.#isUsedUp || this.#waiting.size > 0) this.#arm();
  };
}
