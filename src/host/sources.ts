import type { Clock, IdSource } from "../protocol/envelope.ts";

/** Where a session takes the time, new ids and random numbers from. */
export interface Sources {
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** When the host was started, in milliseconds since 1970. */
  readonly startedAt: number;
}
