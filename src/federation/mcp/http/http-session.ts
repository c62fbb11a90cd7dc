// The sessions of MCP clients over HTTP, in any revision.
import type { IncomingMessage, ServerResponse } from "node:http";
import { replyUnknownSession } from "./rpc-reply.ts";

export interface HttpSession {
  /**
   * Only requests of the same principal reach the session. Their token may be another: clients refresh theirs every few
   * minutes.
   */
  readonly callerKey: string;
  /** Called before each request with its token. */
  useToken?(token: string): Promise<void>;
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /**
   * Ends the session with all its streams; calls in flight may still finish for `drainMs`. Calling it twice is allowed.
   */
  close(drainMs?: number): Promise<void>;
  /** Resolves when the session accepts no more requests. */
  readonly ended: Promise<void>;
}

interface Kept {
  readonly session: HttpSession;
  /** Open requests and streams. */
  active: number;
  lastActiveAt: number;
}

/** Finds sessions by a key, and ends idle sessions. */
export class HttpSessions {
  readonly #kept = new Map<string, Kept>();
  readonly #idleMs: number;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  #isClosed = false;

  constructor(idleMs: number, now: () => number) {
    this.#idleMs = idleMs;
    this.#now = now;
    this.#timer = setInterval(() => this.expire(), Math.min(Math.max(idleMs / 4, 50), 10_000)).unref();
  }

  get size(): number {
    return this.#kept.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get(key: string): HttpSession | undefined {
    return this.#kept.get(key)?.session;
  }

  add(key: string, session: HttpSession): void {
    // The session was being opened while the door closed.
    if (this.#isClosed) return void session.close();
    this.#kept.set(key, { session, active: 0, lastActiveAt: this.#now() });
    void session.ended.then(() => {
      // By now another session may have this key.
      if (this.get(key) === session) this.#kept.delete(key);
    });
  }

  /** Counts the session as active until the response is closed. */
  hold(key: string, response: ServerResponse): void {
    const kept = this.#kept.get(key);
    // A response that is already closed emits no further "close".
    if (kept === undefined || response.destroyed) return;
    kept.active++;
    response.once("close", () => {
      kept.active--;
      kept.lastActiveAt = this.#now();
    });
  }

  /** Passes a request to the session of this key. */
  async handle(key: string, request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void> {
    const session = this.get(key);
    if (session === undefined) return replyUnknownSession(response);
    this.hold(key, response);
    await session.handle(request, response, body);
  }

  expire(): void {
    const now = this.#now();
    for (const [key, { session, active, lastActiveAt }] of this.#kept) {
      if (active > 0 || now - lastActiveAt < this.#idleMs) continue;
      this.#kept.delete(key);
      void session.close();
    }
  }

  /** Accepts no more sessions, and ends the existing ones. While they finish, their clients can still reach them. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await Promise.all([...this.#kept.values()].map(({ session }) => session.close(drainMs)));
  }
}

/** Ends a session in an order in which no answer is lost. */
export function createEnding(
  endAgent: (drainMs: number) => Promise<void>,
  endStreams: () => Promise<void>,
): Pick<HttpSession, "close" | "ended"> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let closing: Promise<void> | undefined;
  const close = async (drainMs: number) => {
    await endAgent(drainMs);
    end();
    // Calls that have just ended still have to be answered.
    await new Promise((resolve) => setImmediate(resolve));
    await endStreams();
  };
  return {
    ended,
    close(drainMs = 0) {
      closing ??= close(drainMs);
      return closing;
    },
  };
}
