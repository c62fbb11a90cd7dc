// The port under a raw peer: one session of the host, bytes or lines, no meaning.

export type TransportKind = "direct" | "http" | "websocket" | "stdio";

/** Those over which several sessions have one host: what they share, and what they must not, can be asked there. */
export const sharedHost: readonly TransportKind[] = ["direct", "http", "websocket"];

export interface LinkEvents {
  /** One line from the host, as it came. */
  line(line: string): void;
  /** The host has ended the link, or it broke. Called once; not after `close`. */
  ended(reason: string): void;
}

export interface Link {
  /** The id by which the transport itself knows the session; undefined where it has none. */
  readonly sessionId: string | undefined;
  /** Sends text as it is: a line, several lines, or half of one. Keeps the order of calls. */
  write(text: string): void;
  /** Sends these pieces one after the other, each in a write of its own; absent where the transport has no byte stream. */
  writePieces?(pieces: readonly Uint8Array[]): Promise<void>;
  /** Ends the link and what belongs to it. Closing twice is closing once. */
  close(): Promise<void>;
}

/** Opens a new session, or joins the one of this id; a transport of one session per process has none to join. */
export type OpenLink = (events: LinkEvents, sessionId?: string) => Promise<Link>;
