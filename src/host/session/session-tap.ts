// Observes one session from outside of the kernel: received lines, calls that begin, sent lines. Examples are a
// recorder, or a console that shows a session live.
import type { InterceptedCall } from "../calls/interceptors.ts";
import type { Sources } from "../sources.ts";

/** Why code of a session runs. */
export type TapCause =
  /** The session was forked, or recovered after a restart. Its plugins are opened. */
  | { readonly kind: "begin" }
  /** A line was received: null if it was longer than `maxLineBytes`, undefined for a message that has no JSON form. */
  | { readonly kind: "line"; readonly line: string | null | undefined }
  /** Messages that were received while plugins were opening are handled now. */
  | { readonly kind: "held" }
  /** A call begins, from the wire, nested or in the background. If it is answered at once, that is part of `work`. */
  | { readonly kind: "call"; readonly call: InterceptedCall };

/**
 * A tap sees text: a message that was received as an object is encoded first. The session neither catches errors of a
 * tap nor awaits its methods.
 */
export interface SessionTap {
  /** Replaces the time, ids and random numbers of the host for this session. */
  readonly sources?: Sources;
  /** Runs `work` exactly once before it returns, in an async context of its choice. */
  enter(cause: TapCause, work: () => void): void;
  /** The session sends a line. Called again if the line is sent again because the peer repeats its request. */
  sent(line: string): void;
  /** The session has ended. Called once, as the last call. */
  close(): void;
}
