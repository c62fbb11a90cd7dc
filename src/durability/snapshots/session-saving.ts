// When snapshots are taken: `SessionSaving` saves and restores one session, `AutomaticSnapshots` saves the sessions of a host
// on a schedule and before the host stops.
import type { Kernel } from "../../host/kernel.ts";
import type { KeptClosing, KeptEntry, KeptSession, OtherSessions } from "../../host/ports/session-keeping.ts";
import type { SavedSession, StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import type { KeptCalls, MergeResult, RestoreResult, SnapshotResult } from "../../host/session/session-core.ts";
import { ownerOf } from "../../plugin/principal.ts";
import { A2EError } from "../../protocol/errors.ts";
import { forkSession, mergeFork } from "../forks/session-forking.ts";
import { SessionSnapshots } from "./session-snapshots.ts";

/** The host takes snapshots under labels with this prefix, and deletes them again. */
const automaticLabel = "auto:";

/** Shared by all sessions of a host. */
interface SavingHost {
  readonly kernel: Kernel;
  readonly sessions: OtherSessions;
  readonly automatic: AutomaticSnapshots;
}

/** Implements three ports in one object, to save memory: there may be thousands of sessions. */
export class SessionSaving implements KeptEntry, KeptCalls, KeptClosing {
  readonly #host: SavingHost;
  readonly #session: KeptSession;
  /** Created when first needed: most sessions are never saved. */
  #snapshots: SessionSnapshots | undefined;
  /** When the last automatic snapshot was taken; before the first, when this object was created. */
  savedAt: number;
  /** Whether the session may have changed since then: a call of a capability has ended, or a restore or a merge has begun. */
  isChanged = false;
  /** Whether there may be automatic snapshots, also from an earlier process. */
  #isKept: boolean;
  /** How many snapshots that an agent asked for are being written. */
  #underWay = 0;

  constructor(host: SavingHost, session: KeptSession, isKept: boolean) {
    this.#host = host;
    this.#session = session;
    this.#isKept = isKept;
    this.savedAt = host.kernel.clock.now();
  }

  get calls(): KeptCalls {
    return this;
  }

  get closing(): KeptClosing {
    return this;
  }

  get id(): string {
    return this.#session.scope.info.id;
  }

  get isOpen(): boolean {
    return this.#session.scope.life.isOpen;
  }

  get #kernel(): Kernel {
    return this.#host.kernel;
  }

  changed(): void {
    this.isChanged = true;
  }

  get forking(): KeptCalls["forking"] {
    const [session, { sessions }] = [this.#session, this.#host];
    return {
      fork: () => forkSession(session, sessions),
      merge: (forkId) => this.#merge(forkId),
    };
  }

  async #merge(forkId: string): Promise<MergeResult> {
    this.isChanged = true;
    return mergeFork(this.#session, await this.#host.sessions.find(forkId));
  }

  get #saved(): SessionSnapshots {
    this.#snapshots ??= new SessionSnapshots(this.#kernel.snapshots, this.#kernel.snapshotMode);
    return this.#snapshots;
  }

  restore(saved: SavedSession): Promise<unknown> {
    return this.#saved.apply(this.id, saved, this.#session.parts);
  }

  listSnapshots(): Promise<StoredSnapshot[]> {
    return this.#saved.list(this.id);
  }

  async saveSnapshot(label = ""): Promise<SnapshotResult> {
    this.#underWay += 1;
    try {
      const { info, capabilities } = await this.#save(label, this.#session.scope.sources.clock.now());
      return { snapshot_id: info.snapshot_id, created_at: info.created_at, bytes: info.bytes, capabilities };
    } finally {
      this.#underWay -= 1;
    }
  }

  async #save(label: string, now: number) {
    const { scope, parts } = this.#session;
    while (parts.opening !== undefined) await parts.opening;
    const { principal, granted } = scope.info;
    const about = { principal_id: ownerOf(principal), granted: [...granted], label, created_at: now / 1000 };
    return this.#saved.save(this.id, parts, about);
  }

  async restoreSnapshot(snapshotId = ""): Promise<RestoreResult> {
    const { parts } = this.#session;
    const found = await this.#saved.load(this.id, snapshotId, this.#kernel.pluginNames);
    if (found === undefined) {
      const which = snapshotId === "" ? "no snapshot" : `no snapshot "${snapshotId}"`;
      throw new A2EError("runtime_error", `this session has ${which}`, { retryable: false });
    }
    this.isChanged = true;
    while (parts.opening !== undefined) await parts.opening;
    const capabilities = await this.#saved.apply(this.id, found, parts);
    return { snapshot_id: found.snapshot_id, capabilities };
  }

  /** Takes an automatic snapshot and deletes all but the newest `keep` of them. It is not part of a recording. */
  async saveAutomatically(label: string, keep: number): Promise<void> {
    const session = this.#session;
    if (session.parts.states.isEmpty) return;
    this.#isKept = true;
    this.savedAt = this.#kernel.clock.now();
    this.isChanged = false;
    try {
      await this.#save(label, this.savedAt);
    } catch (error) {
      this.isChanged = true;
      throw error;
    }
    // A session that ended meanwhile has run `forget` before this snapshot was written.
    await this.#prune(session.scope.life.state === "gone" ? 0 : keep);
  }

  leave(): Promise<void> {
    return this.#host.automatic.saveDraining(this);
  }

  /** Whether its agent has saved the session, or is saving it. */
  isRestorable(): boolean | Promise<boolean> {
    const mayHaveSnapshots = this.#snapshots !== undefined || this.#isKept;
    return mayHaveSnapshots && this.#hasSnapshots();
  }

  async #hasSnapshots(): Promise<boolean> {
    if (this.#underWay > 0) return true;
    try {
      const all = await this.#kernel.runApart(() => this.listSnapshots());
      return all.some(({ label }) => !label.startsWith(automaticLabel));
    } catch {
      // If the store cannot be read, the session may have a snapshot.
      return true;
    }
  }

  /** The session has ended for good: deletes its automatic snapshots. */
  async forget(): Promise<void> {
    if (!this.#isKept) return;
    try {
      await this.#kernel.runApart(() => this.#prune(0));
    } catch (error) {
      const session = this.#session.scope.info.handle;
      this.#kernel.log.error("snapshots of a session could not be removed", { session, error });
    }
  }

  #prune(keep: number): Promise<void> {
    return this.#saved.prune(this.id, this.#kernel.pluginNames, automaticLabel, keep);
  }
}

export class AutomaticSnapshots {
  readonly #kernel: Kernel;
  /** The running pass over the due sessions, which saves one session at a time so that calls are not held up. */
  #saving: Promise<void> | undefined;
  #forgetting: Promise<void> = Promise.resolve();
  #drainUntil = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Saves the sessions that are due. Called every second; does nothing while the last pass is still running. */
  saveDue(sessions: Iterable<SessionSaving>, now: number): void {
    const { everyMs } = this.#kernel.snapshotSchedule;
    if (everyMs === 0 || this.#saving !== undefined) return;
    const due = [...sessions].filter(
      ({ isOpen, isChanged, savedAt }) => isOpen && isChanged && now - savedAt >= everyMs,
    );
    if (due.length === 0) return;
    this.#saving = this.#saveAll(due).finally(() => {
      this.#saving = undefined;
    });
  }

  async #saveAll(sessions: readonly SessionSaving[]): Promise<void> {
    for (const session of sessions) if (session.isOpen) await this.#save(session, `${automaticLabel}schedule`);
  }

  /** The host stops: sessions that end within `drainMs` are saved first. If it is called twice, the shorter time counts. */
  beginDrain(drainMs: number): void {
    this.#drainUntil = Math.min(this.#drainUntil || Number.POSITIVE_INFINITY, performance.now() + drainMs);
  }

  async saveDraining(session: SessionSaving): Promise<void> {
    if (!this.#kernel.snapshotSchedule.onDrain || !session.isChanged) return;
    if (performance.now() < this.#drainUntil) return this.#save(session, `${automaticLabel}drain`);
    if (this.#drainUntil > 0)
      this.#kernel.log.warn("a session was not saved: the time to shut down is over", {
        session: this.#kernel.handleOf(session.id),
      });
  }

  /** Deletes the automatic snapshots of sessions that are gone. */
  forget(sessionIds: readonly string[]): void {
    this.#forgetting = this.#forgetting.then(async () => {
      for (const id of sessionIds) await this.#forget(id);
    });
  }

  async #forget(sessionId: string): Promise<void> {
    const { snapshots, snapshotMode, pluginNames, log, handleOf } = this.#kernel;
    try {
      await new SessionSnapshots(snapshots, snapshotMode).prune(sessionId, pluginNames, automaticLabel, 0);
    } catch (error) {
      log.error("snapshots of a session could not be removed", { session: handleOf(sessionId), error });
    }
  }

  /** Resolves when no snapshot is being written or deleted. */
  async settled(): Promise<void> {
    await this.#saving;
    await this.#forgetting;
  }

  async #save(session: SessionSaving, label: string): Promise<void> {
    try {
      await session.saveAutomatically(label, this.#kernel.snapshotSchedule.keep);
    } catch (error) {
      this.#kernel.log.error("a session could not be saved", {
        session: this.#kernel.handleOf(session.id),
        label,
        error,
      });
    }
  }
}
