// Puts what was written to a file on the disk, with as few syncs as will do: each covers all that was written before it.
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import type { DiskPace } from "./disk-pace.ts";

/** As `fdatasync` does: calls back once; at once where it did not have to wait for another thread. */
export type SyncFile = (file: number, callback: (error: Error | null) => void) => void;

export interface FileSyncsOptions {
  path: string;
  sync: SyncFile;
  /** A sync begins no sooner than this after the one before. */
  intervalMs: number;
  /**
   * How many may be under way. With two, what was written during the first need not wait for both. Each has a descriptor
   * of its own, since the kernel tells of a failed write once per descriptor.
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
  /** Until the next one may begin. */
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

  /** Numbers only ever grow; what has this one, or a lower one, is written. */
  request(last: number): void {
    this.#requested = last;
    this.#start();
  }

  /** Ends the rest between two syncs, because it is over or because somebody waits. */
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

  /** Only when none is under way. */
  close(): void {
    clearTimeout(this.#rest);
    for (const file of this.#free.splice(0)) closeSync(file);
  }
}

/** The two ways to sync a file. */
interface SyncWays {
  syncHere(file: number): void;
  syncAway: SyncFile;
}

const theseWays: SyncWays = { syncHere: fdatasyncSync, syncAway: fdatasync };

/** Syncs in place or in the thread pool, as the disk is quick or slow. */
export function createPacedSync(pace: DiskPace, { syncHere, syncAway } = theseWays): SyncFile {
  return (file, callback) => {
    if (!pace.isQuick) {
      pace.passBy();
      return syncAway(file, callback);
    }
    let failure: Error | null = null;
    try {
      pace.wait(() => syncHere(file));
    } catch (error) {
      failure = error as Error;
    }
    callback(failure);
  };
}
