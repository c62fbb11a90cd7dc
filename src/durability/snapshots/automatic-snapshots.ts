// Snapshots that nobody asks for: from time to time while a session is used, and when the host is shut down.
import type { Kernel } from "../../host/kernel.ts";
import { shortId } from "../../host/logger.ts";
import { SessionSnapshots } from "./session-snapshots.ts";

/** Labels that begin like this are the host's: what carries one may be removed again. */
export const automaticLabel = "auto:";

/** What is needed of a session. */
interface SavedSession {
  readonly id: string;
  readonly isOpen: boolean;
  readonly saving: {
    /** Whether anything may have changed since it was last saved by itself. */
    readonly isChanged: boolean;
    /** When it was last saved by itself, or began. */
    readonly savedAt: number;
    saveAutomatically(label: string, keep: number): Promise<void>;
  };
}

export class AutomaticSnapshots {
  readonly #kernel: Kernel;
  /** One at a time: a host with many sessions must not stop for them. */
  #saving: Promise<void> | undefined;
  #forgetting: Promise<void> = Promise.resolve();
  #drainUntil = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** Saves the sessions that are due. Called regularly; while it still saves, it does nothing. */
  saveDue(sessions: Iterable<SavedSession>, now: number): void {
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

  async #saveAll(sessions: readonly SavedSession[]): Promise<void> {
    for (const session of sessions) if (session.isOpen) await this.#save(session, `${automaticLabel}schedule`);
  }

  /** From now on sessions that end are saved first, for as long as a drain may take; the shorter one counts. */
  beginDrain(drainMs: number): void {
    this.#drainUntil = Math.min(this.#drainUntil || Number.POSITIVE_INFINITY, performance.now() + drainMs);
  }

  async saveDraining(session: SavedSession): Promise<void> {
    if (!this.#kernel.snapshotSchedule.onDrain || !session.saving.isChanged) return;
    if (performance.now() < this.#drainUntil) return this.#save(session, `${automaticLabel}drain`);
    if (this.#drainUntil > 0)
      this.#kernel.log.warn("a session was not saved: the time to shut down is over", { session: shortId(session.id) });
  }

  /** Removes what the host kept on its own of sessions that are gone. */
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

  /** Resolves when nothing is being saved or removed any more. */
  async settled(): Promise<void> {
    await this.#saving;
    await this.#forgetting;
  }

  async #save(session: SavedSession, label: string): Promise<void> {
    try {
      await session.saving.saveAutomatically(label, this.#kernel.snapshotSchedule.keep);
    } catch (error) {
      this.#kernel.log.error("a session could not be saved", { session: shortId(session.id), label, error });
    }
  }
}
