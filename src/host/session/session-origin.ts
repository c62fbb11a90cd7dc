// What a session begins with if it is not simply new.
import type { SessionOrigin } from "../ports/journal.ts";
import type { SavedSession } from "../ports/snapshot-store.ts";
import type { Sources } from "../sources.ts";
import type { SessionTap } from "./session-tap.ts";

/** How a session begins. */
export interface SessionBeginning {
  /** Its agent cannot reconnect, for example one behind an MCP client: a host that stops ends the session for good. */
  isTransient?: boolean;
  /** A snapshot to restore once the agent has shaken hands. */
  restoreFrom?: SavedSession;
  origin?: SessionOrigin;
}

/** What is known of a session before it is made. */
export interface TappedSession {
  readonly id: string;
  readonly beginning: SessionBeginning;
  /** Those of the host. */
  readonly sources: Sources;
}

/** Called once for each session that the host makes; undefined if this one is not followed. */
export type CreateTap = (session: TappedSession) => SessionTap | undefined;
