// Creates, finds, lists and ends sessions, and ends those that nobody uses any more.
import { AsyncResource } from "node:async_hooks";
import { AutomaticSnapshots } from "../../durability/snapshots/session-saving.ts";
import { SessionSnapshots } from "../../durability/snapshots/session-snapshots.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Kernel } from "../kernel.ts";
import { shortId } from "../logger.ts";
import type { SessionOrigin } from "../ports/journal.ts";
import type { StoredSnapshot } from "../ports/snapshot-store.ts";
import { isThenable } from "../thenable.ts";
import { Session } from "./session.ts";
import type { CreateTap, SessionBeginning } from "./session-origin.ts";

/** How often sessions are looked over for expiry. */
const sweepMs = 1_000;
/** How often stored sessions are looked over that nobody has come back to. */
const forgetMs = 10 * 60_000;

export class SessionManager {
  readonly #kernel: Kernel;
  readonly #createId: () => string;
  readonly #tap: CreateTap | undefined;
  readonly #sessions = new Map<string, Session>();
  readonly #recovering = new Map<string, Promise<Session | undefined>>();
  /** Bound to the async context of the host's start: a timer would otherwise keep the context of the call that forked. */
  readonly #startTimer = AsyncResource.bind(() => setInterval(() => this.#expire(), sweepMs).unref());
  readonly #automatic: AutomaticSnapshots;
  #timer: NodeJS.Timeout | undefined;
  #forgottenAt: number;
  #forgetting: Promise<void> | undefined;
  #isClosed = false;

  constructor(kernel: Kernel, createId: () => string, tap?: CreateTap) {
    this.#kernel = kernel;
    this.#createId = createId;
    this.#tap = tap;
    this.#automatic = new AutomaticSnapshots(kernel);
    this.#forgottenAt = kernel.clock.now();
    this.#forgetStored(this.#forgottenAt);
  }

  get size(): number {
    return this.#sessions.size;
  }

  create(beginning: Pick<SessionBeginning, "isTransient"> = {}): Session {
    const id = this.#createId();
    if (this.#sessions.has(id)) throw new Error("the source of session ids repeats itself");
    this.#checkRoom();
    return this.#add(id, beginning);
  }

  /** A session that is live. */
  get(sessionId: string): Session | undefined {
    return this.#sessions.get(sessionId);
  }

  /**
   * A session that is live, or that the journal has: that one is recovered. Returns a promise only if the journal does.
   * All who ask while it is recovered get the same session, in the order in which they asked.
   */
  find(sessionId: string): Session | undefined | Promise<Session | undefined> {
    return this.#sessions.get(sessionId) ?? this.#recovering.get(sessionId) ?? this.#recover(sessionId);
  }

  /** Brings back a session as of its last durable turn. */
  #recover(sessionId: string): Session | undefined | Promise<Session | undefined> {
    if (this.#isClosed) return undefined;
    const loaded = this.#kernel.journal?.load(sessionId);
    if (!isThenable(loaded)) return this.#addRecovered(sessionId, loaded);
    const recovering = loaded
      .then((origin) => this.#addRecovered(sessionId, origin))
      .finally(() => this.#recovering.delete(sessionId));
    this.#recovering.set(sessionId, recovering);
    return recovering;
  }

  #addRecovered(sessionId: string, origin: SessionOrigin | undefined): Session | undefined {
    const { clock, limits } = this.#kernel;
    // One that is too old is about to be removed.
    if (origin === undefined || clock.now() - origin.record.createdAt >= limits.sessionMaxAgeMs) return undefined;
    this.#checkRoom();
    return this.#add(sessionId, { origin });
  }

  /** For a fork: there is room for it until the end of this turn. */
  readonly createId = (): string => {
    this.#checkRoom();
    return this.#createId();
  };

  /** Adds a fork that a session has prepared, under an id from `createId`. */
  fork(sessionId: string, origin: SessionOrigin): Session {
    return this.#add(sessionId, { origin });
  }

  /** Adds a session under a given id that begins as described. */
  open(sessionId: string, beginning: SessionBeginning): Session {
    this.#checkRoom();
    return this.#add(sessionId, beginning);
  }

  list(): Session[] {
    return [...this.#sessions.values()];
  }

  /** Ends a session; false where there is none. */
  async delete(sessionId: string, reason = "deleted"): Promise<boolean> {
    const session = await this.find(sessionId);
    if (session === undefined) return false;
    await session.close(reason);
    return true;
  }

  /**
   * Restores a session that is neither live nor in the journal from a snapshot, by default its newest, under its old id.
   * Its agent must shake hands again, as the principal that owned it. Undefined if there is no snapshot of it.
   */
  async restore(sessionId: string, snapshotId = ""): Promise<Session | undefined> {
    const found = await this.find(sessionId);
    if (found !== undefined) return found;
    const { snapshots, snapshotMode, pluginNames } = this.#kernel;
    const saved = await new SessionSnapshots(snapshots, snapshotMode).load(sessionId, snapshotId, pluginNames);
    if (saved === undefined) return undefined;
    // Another request may have restored it while the store was read.
    const live = this.#sessions.get(sessionId);
    if (live !== undefined) return live;
    this.#checkRoom();
    return this.#add(sessionId, { restoreFrom: saved });
  }

  /** Snapshots of a session, live or not; newest first. */
  listSnapshots(sessionId: string): Promise<StoredSnapshot[]> {
    const { snapshots, snapshotMode } = this.#kernel;
    return new SessionSnapshots(snapshots, snapshotMode).list(sessionId);
  }

  #checkRoom(): void {
    if (this.#isClosed) throw new A2EError("cancelled", "the host is shutting down");
    if (this.#sessions.size >= this.#kernel.limits.maxSessions) {
      const detail = { limit: "maxSessions", retry_after_ms: 1_000 };
      throw new A2EError("rate_limited", `this host has ${this.#sessions.size} sessions and takes no more`, { detail });
    }
  }

  /** There must be room. */
  #add(sessionId: string, beginning: SessionBeginning = {}): Session {
    const tap = this.#tap?.({ id: sessionId, beginning, sources: this.#kernel });
    const session = new Session(sessionId, this.#kernel, { manager: this, tap, ...beginning });
    this.#sessions.set(sessionId, session);
    this.#timer ??= this.#startTimer();
    return session;
  }

  /** A session has ended. */
  forget(session: Session): void {
    // It may have been recovered or restored under its id meanwhile.
    if (this.#sessions.get(session.id) === session) this.#sessions.delete(session.id);
  }

  /** Sessions whose agents never came back after a restart must not fill the disk for ever. */
  #forgetStored(now: number): void {
    this.#forgottenAt = now;
    const { journal, limits, log } = this.#kernel;
    const live = { has: (id: string) => this.#sessions.has(id) || this.#recovering.has(id) };
    const forget = (ids: readonly string[]) => this.#automatic.forget(ids);
    const report = (error: unknown) => log.error("old sessions could not be removed", { error });
    try {
      const forgotten = journal?.forgetOlderThan(now - limits.sessionMaxAgeMs, live) ?? [];
      if (isThenable(forgotten)) this.#forgetting = Promise.resolve(forgotten).then(forget, report);
      else if (forgotten.length > 0) forget(forgotten);
    } catch (error) {
      report(error);
    }
  }

  /** Called by a session that ends, before its plugins do. */
  saveDraining(session: Session): Promise<void> {
    return this.#automatic.saveDraining(session);
  }

  #expire(): void {
    const { clock, limits, log } = this.#kernel;
    const now = clock.now();
    if (now - this.#forgottenAt >= forgetMs) this.#forgetStored(now);
    this.#automatic.saveDue(this.#sessions.values(), now);
    for (const session of this.#sessions.values()) {
      const reason = expiry(session, now, limits);
      if (reason === undefined) continue;
      log.info("session expired", { session: shortId(session.id), reason });
      void session.close(reason);
    }
    if (this.#sessions.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Ends all sessions; each may finish its calls for `drainMs`, or for what is left of an earlier `close`. */
  async close(drainMs: number): Promise<void> {
    this.#isClosed = true;
    this.#automatic.beginDrain(drainMs);
    await Promise.all(this.list().map((session) => session.close("host is shutting down", drainMs)));
    await this.#forgetting;
    await this.#automatic.settled();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function expiry(session: Session, now: number, limits: Kernel["limits"]): string | undefined {
  if (session.status === "closing" || session.status === "closed") return undefined;
  if (now - session.createdAt >= limits.sessionMaxAgeMs) return "maximum age reached";
  const isAwaited = session.status === "new" && !session.hasOwner;
  if (isAwaited && now - session.createdAt >= limits.handshakeTimeoutMs) return "no handshake";
  if (!session.isAttached && !session.isBusy && now - session.lastActiveAt >= limits.sessionIdleMs) return "idle";
  return undefined;
}
