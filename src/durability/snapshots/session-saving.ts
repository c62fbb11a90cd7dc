// When snapshots are taken: `SessionSaving` saves and restores one session, `AutomaticSnapshots` saves the sessions of a host
// on a schedule and before the host stops.
import type { SessionInfo } from "../../host/call-context.ts";
import type { Kernel } from "../../host/kernel.ts";
import { shortId } from "../../host/logger.ts";
import type { StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import type { SessionParts } from "../../host/session/session-parts.ts";
import type { Sources } from "../../host/sources.ts";
import type { ResultInputOf } from "../../protocol/capability.ts";
import type { restore, snapshot } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import { type SavedSession, SessionSnapshots } from "./session-snapshots.ts";

/** The host takes snapshots under labels with this prefix, and deletes them again. */
const automaticLabel = "auto:";

/** What saving needs of its session. */
export interface SavingPort {
  readonly id: string;
  readonly info: SessionInfo;
  readonly parts: SessionParts;
  readonly sources: Sources;
  /** The session has ended for good: no agent can return to it. */
  readonly isGone: boolean;
}

export class SessionSaving {
  readonly #kernel: Kernel;
  readonly #session: SavingPort;
  /** Created when first needed: most sessions are never saved. */
  #snapshots: SessionSnapshots | undefined;
  /** When the last automatic snapshot was taken; before the first one, when the session began. */
  savedAt: number;
  /** Whether the session may have changed since then: a call of a capability has ended, or a restore or a merge has begun. */
  isChanged = false;
  /** Whether there may be automatic snapshots, also from an earlier process. */
  #isKept: boolean;
  /** How many snapshots that an agent asked for are being written. */
  #underWay = 0;

  constructor(kernel: Kernel, session: SavingPort, isKept: boolean) {
    this.#kernel = kernel;
    this.#session = session;
    this.#isKept = isKept;
    this.savedAt = kernel.clock.now();
  }

  get #saved(): SessionSnapshots {
    this.#snapshots ??= new SessionSnapshots(this.#kernel.snapshots, this.#kernel.snapshotMode);
    return this.#snapshots;
  }

  restoreFrom(saved: SavedSession): Promise<unknown> {
    return this.#saved.apply(this.#session.id, saved, this.#session.parts);
  }

  listSnapshots(): Promise<StoredSnapshot[]> {
    return this.#saved.list(this.#session.id);
  }

  async saveSnapshot(label = ""): Promise<ResultInputOf<typeof snapshot>> {
    this.#underWay += 1;
    try {
      const { info, capabilities } = await this.#save(label, this.#session.sources.clock.now());
      return { snapshot_id: info.snapshot_id, created_at: info.created_at, bytes: info.bytes, capabilities };
    } finally {
      this.#underWay -= 1;
    }
  }

  async #save(label: string, now: number) {
    const { id, info, parts } = this.#session;
    while (parts.opening !== undefined) await parts.opening;
    const { principal, granted } = info;
    const about = { principal_id: principal.id, granted: [...(granted ?? [])], label, created_at: now / 1000 };
    return this.#saved.save(id, parts, about);
  }

  async restoreSnapshot(snapshotId = ""): Promise<ResultInputOf<typeof restore>> {
    const { id, parts } = this.#session;
    const found = await this.#saved.load(id, snapshotId, this.#kernel.pluginNames);
    if (found === undefined) {
      const which = snapshotId === "" ? "no snapshot" : `no snapshot "${snapshotId}"`;
      throw new A2EError("runtime_error", `this session has ${which}`, { retryable: false });
    }
    this.isChanged = true;
    while (parts.opening !== undefined) await parts.opening;
    const capabilities = await this.#saved.apply(id, found, parts);
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
    await this.#prune(session.isGone ? 0 : keep);
  }

  get mayHaveSnapshots(): boolean {
    return this.#snapshots !== undefined || this.#isKept;
  }

  /** Whether its agent has saved the session, or is saving it, and so may revive it after its end. */
  async hasSnapshots(): Promise<boolean> {
    if (this.#underWay > 0) return true;
    try {
      const all = await this.#kernel.runApart(() => this.listSnapshots());
      return all.some(({ label }) => !label.startsWith(automaticLabel));
    } catch {
      // If the store cannot be read, there may be one.
      return true;
    }
  }

  /** The session has ended for good: deletes its automatic snapshots. */
  async forget(): Promise<void> {
    if (!this.#isKept) return;
    try {
      await this.#kernel.runApart(() => this.#prune(0));
    } catch (error) {
      const session = shortId(this.#session.id);
      this.#kernel.log.error("snapshots of a session could not be removed", { session, error });
    }
  }

  #prune(keep: number): Promise<void> {
    return this.#saved.prune(this.#session.id, this.#kernel.pluginNames, automaticLabel, keep);
  }
}

/** What automatic snapshots need of a session. */
interface SavableSession {
  readonly id: string;
  readonly isOpen: boolean;
  readonly saving: Pick<SessionSaving, "isChanged" | "savedAt" | "saveAutomatically">;
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
  saveDue(sessions: Iterable<SavableSession>, now: number): void {
    const { everyMs } = this.#kernel.snapshotSchedule;
    if (everyMs === 0 || this.#saving !== undefined) return;
    const due = [...sessions].filter(
      ({ isOpen, saving }) => isOpen && saving.isChanged && now - saving.savedAt >= everyMs,
    );
    if (due.length === 0) return;
    this.#saving = this.#saveAll(due).finally(() => {
      this.#saving = undefined;
    });
  }

  async #saveAll(sessions: readonly SavableSession[]): Promise<void> {
    for (const session of sessions) if (session.isOpen) await this.#save(session, `${automaticLabel}schedule`);
  }

  /** The host stops: sessions that end within `drainMs` are saved first. If it is called twice, the shorter time counts. */
  beginDrain(drainMs: number): void {
    this.#drainUntil = Math.min(this.#drainUntil || Number.POSITIVE_INFINITY, performance.now() + drainMs);
  }

  async saveDraining(session: SavableSession): Promise<void> {
    if (!this.#kernel.snapshotSchedule.onDrain || !session.saving.isChanged) return;
    if (performance.now() < this.#drainUntil) return this.#save(session, `${automaticLabel}drain`);
    if (this.#drainUntil > 0)
      this.#kernel.log.warn("a session was not saved: the time to shut down is over", { session: shortId(session.id) });
  }

  /** Deletes the automatic snapshots of sessions that are gone. */
  forget(sessionIds: readonly string[]): void {
    this.#forgetting = this.#forgetting.then(async () => {
      for (const id of sessionIds) await this.#forget(id);
    });
  }

  async #forget(sessionId: string): Promise<void> {
    const { snapshots, snapshotMode, pluginNames, log } = this.#kernel;
    try {
      await new SessionSnapshots(snapshots, snapshotMode).prune(sessionId, pluginNames, automaticLabel, 0);
    } catch (error) {
      log.error("snapshots of a session could not be removed", { session: shortId(sessionId), error });
    }
  }

  /** Resolves when no snapshot is being written or deleted. */
  async settled(): Promise<void> {
    await this.#saving;
    await this.#forgetting;
  }

  async #save(session: SavableSession, label: string): Promise<void> {
    try {
      await session.saving.saveAutomatically(label, this.#kernel.snapshotSchedule.keep);
    } catch (error) {
      this.#kernel.log.error("a session could not be saved", { session: shortId(session.id), label, error });
    }
  }
}
