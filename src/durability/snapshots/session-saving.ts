// What is kept of a session beside its journal: snapshots that its agent asks for, and those that the host takes by itself.

import type { SessionInfo } from "../../host/call-context.ts";
import type { Kernel } from "../../host/kernel.ts";
import { shortId } from "../../host/logger.ts";
import type { StoredSnapshot } from "../../host/ports/snapshot-store.ts";
import type { SessionParts } from "../../host/session/session-parts.ts";
import type { ResultInputOf } from "../../protocol/capability.ts";
import type { restore, snapshot } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Sources } from "../../recording/tape.ts";
import { automaticLabel } from "./automatic-snapshots.ts";
import { type SavedSession, SessionSnapshots } from "./session-snapshots.ts";

/** What saving needs of its session. */
export interface SavingPort {
  readonly id: string;
  readonly info: SessionInfo;
  readonly parts: SessionParts;
  readonly sources: Sources;
  /** It has ended, and nobody comes back to it. */
  readonly isGone: boolean;
}

export class SessionSaving {
  readonly #kernel: Kernel;
  readonly #session: SavingPort;
  /** Made when first needed, as most sessions are never saved. */
  #snapshots: SessionSnapshots | undefined;
  /** When it was last saved without being asked to, or began. */
  savedAt: number;
  /** Whether anything may have changed since then: a call of a capability has ended, if only one in the background. */
  isChanged = false;
  /** Whether the host may have saved it on its own, now or in an earlier life. */
  #isKept: boolean;
  /** How many snapshots that somebody asked for are being saved. */
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

  /** Not as an agent would: nothing of it is part of a recording. Of those that were taken so, only the newest are kept. */
  async saveAutomatically(label: string, keep: number): Promise<void> {
    const session = this.#session;
    if (!session.parts.isStateful) return;
    this.#isKept = true;
    this.savedAt = this.#kernel.clock.now();
    this.isChanged = false;
    try {
      await this.#save(label, this.savedAt);
    } catch (error) {
      this.isChanged = true;
      throw error;
    }
    // One that has ended for good meanwhile has removed what there was by then.
    await this.#prune(session.isGone ? 0 : keep);
  }

  /** Whether there may be snapshots of it, be it from an earlier life. */
  get mayHaveSnapshots(): boolean {
    return this.#snapshots !== undefined || this.#isKept;
  }

  /** Whether its agent saved it, or is about to, and so may bring it back though it has ended. */
  async hasSnapshots(): Promise<boolean> {
    if (this.#underWay > 0) return true;
    try {
      const all = await this.#unrecorded(() => this.listSnapshots());
      return all.some(({ label }) => !label.startsWith(automaticLabel));
    } catch {
      // What cannot be read may be there.
      return true;
    }
  }

  /** It has ended for good: nobody comes back to what the host kept of it on its own. */
  async forget(): Promise<void> {
    if (!this.#isKept) return;
    try {
      await this.#unrecorded(() => this.#prune(0));
    } catch (error) {
      const session = shortId(this.#session.id);
      this.#kernel.log.error("snapshots of a session could not be removed", { session, error });
    }
  }

  /** For what a replay could not give back: there, the host has kept nothing of the session by itself. */
  #unrecorded<Result>(work: () => Promise<Result>): Promise<Result> {
    const { scopes } = this.#kernel;
    return scopes === undefined ? work() : scopes.run(undefined, work);
  }

  #prune(keep: number): Promise<void> {
    return this.#saved.prune(this.#session.id, this.#kernel.pluginNames, automaticLabel, keep);
  }
}
