// Syncs a file to the disk with as few syncs as possible: each sync covers all writes before it.
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";

/** Like `fdatasync`: calls back once. Calls back before it returns if no other thread was involved. */
export type SyncFile = (file: number, callback: (error: Error | null) => void) => void;

export interface FileSyncsOptions {
  path: string;
  sync: SyncFile;
  /** The minimum time between the starts of two syncs. */
  intervalMs: number;
  /**
   * How many syncs may be under way. With two, a write during the first sync need not wait for both. Each has a
   * descriptor of its own, since the kernel reports a failed write once per descriptor.
   */
  atOnce: number;
  /** Called with the number of the last write that a sync has covered. */
  synced(last: number, error: Error | undefined): void;
}

export class FileSyncs {
  readonly #sync: SyncFile;
  readonly #intervalMs: number;
  readonly #synced: (last: number, error: Error | undefined) => void;
  /** Descriptors that no sync uses now. */
  readonly #free: number[];
  #busy = 0;
  #requested = 0;
  #started = 0;
  /** Runs until the next sync may begin. */
  #rest: NodeJS.Timeout | undefined;

  constructor({ path, sync, intervalMs, atOnce, synced }: FileSyncsOptions) {
    this.#sync = sync;
    this.#intervalMs = intervalMs;
    this.#synced = synced;
    this.#free = Array.from({ length: atOnce }, () => openSync(path, "a"));
  }

  get isBusy(): boolean {
    return this.#busy > 0 || this.#started < this.#requested;
  }

  /** `last` only ever grows; writes with this number or a lower one are in the file. */
  request(last: number): void {
    this.#requested = last;
    this.#start();
  }

  /** Ends the pause between two syncs, because it is over or because a caller waits. */
  hurry(): void {
    clearTimeout(this.#rest);
    this.#rest = undefined;
    this.#start();
  }

  #start(): void {
    const mayStart = this.#started < this.#requested && this.#rest === undefined;
    const file = mayStart ? this.#free.pop() : undefined;
    if (file === undefined) return;
    if (this.#intervalMs > 0) this.#rest = setTimeout(() => this.hurry(), this.#intervalMs).unref();
    const last = this.#requested;
    this.#started = last;
    this.#busy += 1;
    this.#sync(file, (error) => {
      this.#free.push(file);
      this.#busy -= 1;
      this.#synced(last, error ?? undefined);
      this.#start();
    });
  }

  /** May be called only if no sync is under way. */
  close(): void {
    clearTimeout(this.#rest);
    for (const file of this.#free.splice(0)) closeSync(file);
  }
}

/** A disk that is quicker than this is waited for in place. */
const quickMs = 1;
/** How many syncs a slow disk keeps the thread pool busy with, at most, before it is tried in place again. */
const maxAway = 1024;

/** The two ways to sync a file, and a clock. */
interface SyncWays {
  syncHere(file: number): void;
  syncAway: SyncFile;
  now(): number;
}

const theseWays: SyncWays = { syncHere: fdatasyncSync, syncAway: fdatasync, now: () => performance.now() };

/**
 * Syncs in place as long as the disk is quick: for a sync of a tenth of a millisecond, handing it to another thread
 * and back takes several times as long. On a slow or busy disk the sync runs in the thread pool.
 */
export function createPacedSync({ syncHere, syncAway, now } = theseWays): SyncFile {
  let away = 1;
  let penalty = 1;
  return (file, callback) => {
    if (away > 0) {
      away -= 1;
      return syncAway(file, callback);
    }
    const startedAt = now();
    let failure: Error | null = null;
    try {
      syncHere(file);
    } catch (error) {
      failure = error as Error;
    }
    const isQuick = now() - startedAt < quickMs;
    away = isQuick ? 0 : penalty;
    penalty = isQuick ? 1 : Math.min(penalty * 2, maxAway);
    callback(failure);
  };
}
