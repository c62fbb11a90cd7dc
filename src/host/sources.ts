import type { Clock, IdSource } from "../protocol/envelope.ts";

/** The time, new ids and random numbers of a session. A replay replaces them by recorded values. */
export interface Sources {
  readonly clock: Clock;
  readonly nextId: IdSource;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** When the host was started, in milliseconds since 1970. */
  readonly startedAt: number;
}
