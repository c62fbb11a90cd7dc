// How a session begins, where it is not simply new.

import type { SavedSession } from "../../durability/snapshots/session-snapshots.ts";
import type { Dialect } from "../../protocol/dialects.ts";
import type { Principal } from "../principal.ts";
import type { Sources } from "../sources.ts";
import type { LayeredState } from "./layered-state.ts";
import type { SessionTap } from "./session-tap.ts";

/** What a session begins with, where it is not new. */
export interface SessionOrigin {
  principal: Principal;
  granted: ReadonlySet<string>;
  dialect: Dialect;
  createdAt: number;
  states: Map<string, LayeredState>;
  /** Its place in the journal; absent where sessions end with the process. */
  stored?: {
    layers: number[];
    /** How many of the layers a fork began with. */
    ground?: number;
    lines: readonly string[];
    lastSeq: number;
    acknowledged: number;
  };
  parent?: string;
}

/** How a session begins, where it is not simply new. */
export interface SessionBeginning {
  /** Nobody can come back to it, as to one behind an MCP client: a host that stops ends it for good. */
  isTransient?: boolean;
  /** State to restore once the agent has shaken hands. */
  restoreFrom?: SavedSession;
  /** A session that was open before: forked, or recovered after a crash. */
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
