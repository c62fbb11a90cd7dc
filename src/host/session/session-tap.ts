// Follows one session from outside of the kernel: which lines come in, which calls begin, which lines go out. A recorder
// is one; a console that shows a session live can be another.
import type { InterceptedCall } from "../calls/interceptors.ts";
import type { Sources } from "../sources.ts";

/** Why code of a session runs. */
export type TapCause =
  /** The session continues an earlier one: it was forked, or recovered after a restart. Its plugins are opened. */
  | { readonly kind: "begin" }
  /** A line came in: null if it was longer than `maxLineBytes`, undefined for a message that has no JSON form. */
  | { readonly kind: "line"; readonly line: string | null | undefined }
  /** A call begins, from the wire, nested or in the background. If it is answered at once, that is part of `work`. */
  | { readonly kind: "call"; readonly call: InterceptedCall };

/**
 * A tap sees text: a message that came in as an object is encoded first. Nothing that a tap throws is caught, and none of
 * its members is awaited.
 */
export interface SessionTap {
  /** What the session draws from; the host's own sources if it is left out. */
  readonly sources?: Sources;
  /** Runs `work` exactly once before it returns, in an async context of its choice. */
  enter(cause: TapCause, work: () => void): void;
  /** The session sends a line. A line that is sent again to a peer that asks again counts again. */
  sent(line: string): void;
  /** The session has ended. Called once; nothing is called afterwards. */
  close(): void;
}
