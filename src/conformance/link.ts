// The port under a raw peer: a session of the host as bytes or lines, without interpretation.

export type TransportKind = "direct" | "http" | "websocket" | "stdio";

/** Transports over which several sessions share a host, so that sharing and isolation can be tested. */
export const sharedHost: readonly TransportKind[] = ["direct", "http", "websocket"];

export interface LinkEvents {
  /** A line from the host, unchanged. */
  line(line: string): void;
  /** The host has ended the link, or it broke. Called once; not after `close`. */
  ended(reason: string): void;
}

export interface Link {
  /** The session's id on the transport itself; undefined if the transport has none. */
  readonly sessionId: string | undefined;
  /** Sends text unchanged: a line, several lines, or half a line. Keeps the order of calls. */
  write(text: string): void;
  /** Sends these pieces one after the other, each in a write of its own; absent if the transport has no byte stream. */
  writePieces?(pieces: readonly Uint8Array[]): Promise<void>;
  /** Ends the link and its resources. Calling it twice is allowed. */
  close(): Promise<void>;
}

/** Opens a new session, or joins the session of this id; a transport with one session per process cannot join. */
export type OpenLink = (events: LinkEvents, sessionId?: string) => Promise<Link>;
