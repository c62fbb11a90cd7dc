// Creates, finds, lists and ends sessions, and ends those that nobody uses any more.
import { AsyncResource } from "node:async_hooks";
import { AutomaticSnapshots } from "../../durability/snapshots/session-saving.ts";
import { SessionSnapshots } from "../../durability/snapshots/session-snapshots.ts";
import type { Dialect } from "../../protocol/dialects.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Kernel } from "../kernel.ts";
import { shortId } from "../logger.ts";
import type { StoredSnapshot } from "../ports/snapshot-store.ts";
import { LayeredState } from "./layered-state.ts";
import { Session } from "./session.ts";
import type { CreateTap, SessionBeginning, SessionOrigin } from "./session-origin.ts";

/** How often sessions are looked over for expiry. */
const sweepMs = 1_000;
/** How often stored sessions are looked over that nobody has come back to. */
const forgetMs = 10 * 60_000;

export class SessionManager {
  readonly #kernel: Kernel;
  readonly #createId: () => string;
  readonly #tap: CreateTap | undefined;
  readonly #sessions = new Map<string, Session>();
  /** Bound to the async context of the host's start: a timer would otherwise keep the context of the call that forked. */
  readonly #startTimer = AsyncResource.bind(() => setInterval(() => this.#expire(), sweepMs).unref());
  readonly #automatic: AutomaticSnapshots;
  #timer: NodeJS.Timeout | undefined;
  #forgottenAt: number;
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
    return this.#add(id, beginning);
  }

  /** A session that is live, or was when the host last ran. */
  get(sessionId: string): Session | undefined {
    return this.#sessions.get(sessionId) ?? this.#recover(sessionId);
  }

  /** Brings back a session from the journal as it was when its last line was written. */
  #recover(sessionId: string): Session | undefined {
    const stored = this.#isClosed ? undefined : this.#kernel.journal?.load(sessionId);
    if (stored === undefined) return undefined;
    const { record, state, lines, lastSeq, acknowledged } = stored;
    const states = new Map(
      [...state].map(([plugin, layers]) => [plugin, LayeredState.fromLayers(layers, record.ground)]),
    );
    return this.#add(sessionId, {
      origin: {
        principal: record.principal,
        granted: new Set(record.granted),
        dialect: record.dialect as Dialect,
        createdAt: record.createdAt,
        states,
        stored: {
          layers: record.layers,
          lines,
          lastSeq,
          acknowledged,
          ...(record.ground === undefined ? {} : { ground: record.ground }),
        },
        ...(record.parent === undefined ? {} : { parent: record.parent }),
      },
    });
  }

  /** The id for a fork. Throws if there is no room for one. */
  readonly createId = (): string => {
    this.#checkRoom();
    return this.#createId();
  };

  /** Adds a fork that a session has prepared. */
  fork(sessionId: string, origin: SessionOrigin): Session {
    const { stored } = origin;
    const { journal } = this.#kernel;
    if (stored === undefined || journal === undefined) return this.#add(sessionId, { origin });
    const layers = [...stored.layers, journal.createLayer()];
    return this.#add(sessionId, { origin: { ...origin, stored: { ...stored, layers, ground: stored.layers.length } } });
  }

  /** Adds a session under a given id that begins as described. */
  open(sessionId: string, beginning: SessionBeginning): Session {
    return this.#add(sessionId, beginning);
  }

  list(): Session[] {
    return [...this.#sessions.values()];
  }

  /** Ends a session; false where there is none. */
  async delete(sessionId: string, reason = "deleted"): Promise<boolean> {
    const session = this.get(sessionId);
    if (session === undefined) return false;
    await session.close(reason);
    return true;
  }

  /**
   * Brings back a session that this host no longer holds, under its old id, from a snapshot; the newest where none is
   * named. Its agent must shake hands again, as the principal that owned it. Undefined where nothing was saved.
   */
  async revive(sessionId: string, snapshotId = ""): Promise<Session | undefined> {
    const live = this.get(sessionId);
    if (live !== undefined) return live;
    const { snapshots, snapshotMode, pluginNames } = this.#kernel;
    const saved = await new SessionSnapshots(snapshots, snapshotMode).load(sessionId, snapshotId, pluginNames);
    if (saved === undefined) return undefined;
    // Somebody may have been quicker while the store was read.
    return this.#sessions.get(sessionId) ?? this.#add(sessionId, { restoreFrom: saved });
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

  #add(sessionId: string, beginning: SessionBeginning = {}): Session {
    this.#checkRoom();
    const tap = this.#tap?.({ id: sessionId, beginning, sources: this.#kernel });
    const session = new Session(sessionId, this.#kernel, { manager: this, tap, ...beginning });
    this.#sessions.set(sessionId, session);
    this.#timer ??= this.#startTimer();
    return session;
  }

  /** A session has ended. */
  forget(session: Session): void {
    // Meanwhile it may have been brought back under its id.
    if (this.#sessions.get(session.id) === session) this.#sessions.delete(session.id);
  }

  /** Agents that never came back after a crash must not fill the disk for ever. */
  #forgetStored(now: number): void {
    this.#forgottenAt = now;
    const { journal, limits } = this.#kernel;
    try {
      const forgotten = journal?.forgetOlderThan(now - limits.sessionMaxAgeMs, this.#sessions) ?? [];
      if (forgotten.length > 0) this.#automatic.forget(forgotten);
    } catch (error) {
      this.#kernel.log.error("old sessions could not be removed", { error });
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
