// The objects that all components of one session share.

import type { Sources } from "../sources.ts";
import type { LiveInfo } from "./live-info.ts";
import type { SessionLife } from "./session-life.ts";
import type { SessionTap } from "./session-tap.ts";

export interface SessionScope {
  readonly info: LiveInfo;
  /** The sources of the tap if it has any, else those of the host. */
  readonly sources: Sources;
  /** Observes the session, for example to record it. */
  readonly tap: SessionTap | undefined;
  readonly life: SessionLife;
  /** When the agent last sent a message or detached, in milliseconds since 1970. */
  lastActiveAt: number;
}
