import type { Clock } from "../protocol/envelope.ts";

export interface FakeClock extends Clock {
  /** Moves time on. */
  advance(byMs: number): void;
}

/** A clock that only the test advances. */
export function createFakeClock(startMs = 1_789_000_000_000): FakeClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    advance(byMs) {
      nowMs += byMs;
    },
  };
}
