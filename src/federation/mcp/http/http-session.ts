// What the door keeps of a client that comes by HTTP, whichever revision it speaks.
import type { IncomingMessage, ServerResponse } from "node:http";

export interface HttpSession {
  /** Only requests with the token it was opened with reach it. */
  readonly token: string;
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  /** Ends it with all its streams. Twice is once. */
  close(): Promise<void>;
}

interface Kept {
  readonly session: HttpSession;
  /** Requests and streams that are open now. */
  active: number;
  lastActiveAt: number;
}

/** Finds sessions by a key and ends those that nobody uses any more. */
export class HttpSessions {
  readonly #kept = new Map<string, Kept>();
  readonly #idleMs: number;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;

  constructor(idleMs: number, now: () => number) {
    this.#idleMs = idleMs;
    this.#now = now;
    this.#timer = setInterval(() => this.expire(), Math.min(Math.max(idleMs / 4, 50), 10_000)).unref();
  }

  get size(): number {
    return this.#kept.size;
  }

  get(key: string): HttpSession | undefined {
    return this.#kept.get(key)?.session;
  }

  add(key: string, session: HttpSession): void {
    this.#kept.set(key, { session, active: 0, lastActiveAt: this.#now() });
  }

  remove(key: string): void {
    this.#kept.delete(key);
  }

  /** Hands a request to the session of this key, which is in use until its response is closed. */
  async handle(key: string, request: IncomingMessage, response: ServerResponse, body?: unknown): Promise<void> {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    kept.active++;
    response.once("close", () => {
      kept.active--;
      kept.lastActiveAt = this.#now();
    });
    await kept.session.handle(request, response, body);
  }

  expire(): void {
    const now = this.#now();
    for (const [key, { session, active, lastActiveAt }] of this.#kept) {
      if (active > 0 || now - lastActiveAt < this.#idleMs) continue;
      this.#kept.delete(key);
      void session.close();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(all.map(({ session }) => session.close()));
  }
}
