// Creates, finds, lists and closes sessions, and closes sessions that expire.
import { AsyncResource } from "node:async_hooks";
import { isThenable } from "../../protocol/awaitable.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Kernel } from "../kernel.ts";
import type { SessionOrigin } from "../ports/journal.ts";
import type { CreateKeeping, OtherSessions, SessionKeeping } from "../ports/session-keeping.ts";
import type { StoredSnapshot } from "../ports/snapshot-store.ts";
import type { Session, Sessions } from "../session.ts";
import { type HeldSession, LiveSession, type SessionHolder } from "./live-session.ts";
import type { CreateTap, PeerBeginning, SessionBeginning } from "./session-origin.ts";
import { UnopenedSessions } from "./unopened-sessions.ts";

/** How often live sessions are checked for expiry. */
const sweepMs = 1_000;
/** How often the journal is checked for sessions older than `sessionMaxAgeMs`. */
const forgetMs = 10 * 60_000;

export class SessionManager implements Sessions {
  readonly #kernel: Kernel;
  readonly #createId: () => string;
  readonly #tap: CreateTap | undefined;
  readonly #sessions = new Map<string, HeldSession>();
  /** Those of `#sessions` that remote peers have created and no agent has opened. They do not count for `maxSessions`. */
  readonly #unopened: UnopenedSessions;
  readonly #recovering = new Map<string, Promise<HeldSession | undefined>>();
  /**
   * Bound to the async context of the host's start: a timer would otherwise keep the context of the call that forked.
   */
  readonly #startTimer = AsyncResource.bind(() => setInterval(() => this.#expire(), sweepMs).unref());
  readonly #keeping: SessionKeeping;
  readonly #holder: SessionHolder;
  #timer: NodeJS.Timeout | undefined;
  #forgottenAt: number;
  #forgetting: Promise<void> | undefined;
  #isClosed = false;

  constructor(kernel: Kernel, createId: () => string, keeping: CreateKeeping, tap?: CreateTap) {
    this.#kernel = kernel;
    this.#createId = createId;
    this.#tap = tap;
    this.#unopened = new UnopenedSessions(kernel.limits);
    this.#keeping = keeping(kernel, this.#others());
    this.#holder = {
      keep: (session, isKnown) => this.#keeping.open(session, isKnown),
      get: (sessionId) => this.get(sessionId),
      admit: (session) => this.#admit(session),
      forget: (session) => this.#forget(session),
    };
    this.#forgottenAt = kernel.clock.now();
    this.#forgetStored(this.#forgottenAt);
  }

  get size(): number {
    return this.#sessions.size;
  }

  create(beginning: PeerBeginning = {}): Session {
    const id = this.#createId();
    if (this.#sessions.has(id)) throw new Error("the source of session ids repeats itself");
    this.#checkRoom();
    const { session } = this.#add(id, beginning);
    const { address, principalId } = beginning;
    if (principalId !== undefined) this.#unopened.add(session, `principal ${principalId}`);
    else if (address !== undefined) this.#unopened.add(session, address);
    return session;
  }

  #admit(session: Session): boolean {
    const isNew = this.#unopened.delete(session);
    return !isNew || this.#openedCount <= this.#kernel.limits.maxSessions;
  }

  get #openedCount(): number {
    return this.#sessions.size - this.#unopened.size;
  }

  get(sessionId: string): Session | undefined {
    return this.#sessions.get(sessionId)?.session;
  }

  find(sessionId: string): Session | undefined | Promise<Session | undefined> {
    const found = this.#find(sessionId);
    return isThenable(found) ? found.then((held) => held?.session) : found?.session;
  }

  #find(sessionId: string): HeldSession | undefined | Promise<HeldSession | undefined> {
    return this.#sessions.get(sessionId) ?? this.#recovering.get(sessionId) ?? this.#recover(sessionId);
  }

  /** Access to the other sessions, for forks and merges. */
  #others(): OtherSessions {
    return {
      find: (sessionId) => {
        const found = this.#find(sessionId);
        return isThenable(found) ? found.then((held) => held?.inside) : found?.inside;
      },
      createId: (principal) => {
        this.#kernel.admit?.(principal);
        this.#checkRoom();
        return this.#createId();
      },
      fork: (sessionId, { journal }, record, states) => {
        const forkOf = journal === undefined ? undefined : { forkOf: journal };
        this.#add(sessionId, { origin: { record, states, lines: [], lastSeq: 0, acknowledged: 0, ...forkOf } });
      },
    };
  }

  /** Recovers a session from the journal, as of its last durable turn. */
  #recover(sessionId: string): HeldSession | undefined | Promise<HeldSession | undefined> {
    if (this.#isClosed) return undefined;
    const loaded = this.#kernel.journal?.load(sessionId);
    if (!isThenable(loaded)) return this.#addRecovered(sessionId, loaded);
    const recovering = loaded
      .then((origin) => this.#addRecovered(sessionId, origin))
      .finally(() => this.#recovering.delete(sessionId));
    this.#recovering.set(sessionId, recovering);
    return recovering;
  }

  #addRecovered(sessionId: string, origin: SessionOrigin | undefined): HeldSession | undefined {
    const { clock, limits } = this.#kernel;
    // A session that is too old will be removed from the journal by `#forgetStored`.
    if (origin === undefined || clock.now() - origin.record.createdAt >= limits.sessionMaxAgeMs) return undefined;
    this.#checkRoom();
    return this.#add(sessionId, { origin });
  }

  open(sessionId: string, beginning: SessionBeginning): Session {
    this.#checkRoom();
    return this.#add(sessionId, beginning).session;
  }

  list(): Session[] {
    return Array.from(this.#sessions.values(), ({ session }) => session);
  }

  async delete(sessionId: string, reason = "deleted"): Promise<boolean> {
    const session = await this.find(sessionId);
    if (session === undefined) return false;
    await session.close(reason);
    return true;
  }

  async restore(sessionId: string, snapshotId = ""): Promise<Session | undefined> {
    const found = await this.find(sessionId);
    if (found !== undefined) return found;
    const saved = await this.#keeping.stored.load(sessionId, snapshotId);
    if (saved === undefined) return undefined;
    // Another request may have restored it while the store was read.
    const live = this.get(sessionId);
    if (live !== undefined) return live;
    this.#checkRoom();
    return this.#add(sessionId, { restoreFrom: saved }).session;
  }

  listSnapshots(sessionId: string): Promise<StoredSnapshot[]> {
    return this.#keeping.stored.list(sessionId);
  }

  #checkRoom(): void {
    if (this.#isClosed) throw new A2EError("cancelled", "the host is shutting down");
    if (this.#openedCount >= this.#kernel.limits.maxSessions) {
      const detail = { limit: "maxSessions", retry_after_ms: 1_000 };
      throw new A2EError("rate_limited", `this host has ${this.#openedCount} sessions and takes no more`, { detail });
    }
  }

  /** The caller must have called `#checkRoom`. */
  #add(sessionId: string, beginning: SessionBeginning = {}): HeldSession {
    const tap = this.#tap?.({ id: sessionId, beginning, sources: this.#kernel });
    const held = LiveSession.begin(sessionId, this.#kernel, { beginning, holder: this.#holder, tap });
    this.#sessions.set(sessionId, held);
    this.#timer ??= this.#startTimer();
    return held;
  }

  #forget(session: Session): void {
    this.#unopened.delete(session);
    // Another session may have been recovered or restored under the same id meanwhile.
    if (this.get(session.id) === session) this.#sessions.delete(session.id);
  }

  /** Removes old sessions from the journal whose agents never reconnected after a restart. */
  #forgetStored(now: number): void {
    this.#forgottenAt = now;
    const { journal, limits, log } = this.#kernel;
    const live = { has: (id: string) => this.#sessions.has(id) || this.#recovering.has(id) };
    const forget = (ids: readonly string[]) => this.#keeping.stored.forget(ids);
    const report = (error: unknown) => log.error("old sessions could not be removed", { error });
    try {
      const forgotten = journal?.forgetOlderThan(now - limits.sessionMaxAgeMs, live) ?? [];
      if (isThenable(forgotten)) this.#forgetting = Promise.resolve(forgotten).then(forget, report);
      else if (forgotten.length > 0) forget(forgotten);
    } catch (error) {
      report(error);
    }
  }

  #expire(): void {
    const { clock, log } = this.#kernel;
    const now = clock.now();
    if (now - this.#forgottenAt >= forgetMs) this.#forgetStored(now);
    const kept = Array.from(this.#sessions.values(), (held) => held.kept);
    this.#keeping.saveDue(kept, now);
    for (const { session } of this.#sessions.values()) {
      const reason = LiveSession.expiryOf(session, now);
      if (reason === undefined) continue;
      log.info("session expired", { session: session.info.handle, reason });
      void session.close(reason);
    }
    if (this.#sessions.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Closes all sessions after their calls had `drainMs` to finish. If it is called twice, the shorter time counts. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true;
    const settled = this.#keeping.stop(drainMs);
    await Promise.all(this.list().map((session) => session.close("host is shutting down", drainMs)));
    await this.#forgetting;
    await settled();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
