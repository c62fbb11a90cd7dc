// How a session begins: new, from a snapshot, or as the continuation of an earlier session.

import type { ClientCertificate } from "../authentication.ts";
import type { SessionOrigin } from "../ports/journal.ts";
import type { SavedSession } from "../ports/snapshot-store.ts";
import type { Sources } from "../sources.ts";
import type { SessionTap } from "./session-tap.ts";

/** What is known about the peer that creates a session. */
export interface PeerBeginning {
  /** The agent cannot reconnect, for example behind an MCP client: a host that stops ends the session for good. */
  isTransient?: boolean;
  /** The network that the peer connected from, as an address or as `2001:db8:0:1::/64`. Unset for peers in this process. */
  address?: string;
  /**
   * The principal whose credential the peer has shown when it created the session. Until its handshake the session counts
   * among those of the principal instead of those of the address.
   */
  principalId?: string;
  /** The certificate of the peer's connection. */
  certificate?: ClientCertificate;
}

export interface SessionBeginning extends PeerBeginning {
  /** A snapshot to restore once the agent has completed a handshake. */
  restoreFrom?: SavedSession;
  /** Set if the session was recovered from the journal, or forked. */
  origin?: SessionOrigin;
}

/** A session that is about to be created. */
export interface TappedSession {
  readonly id: string;
  readonly beginning: SessionBeginning;
  /** The sources of the host. */
  readonly sources: Sources;
}

/** Called once for each session that the host creates. Returns undefined for a session without a tap. */
export type CreateTap = (session: TappedSession) => SessionTap | undefined;
