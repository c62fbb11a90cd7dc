// The audit log of a host in mode `proven`. The entries of a turn become durable with the turn, as blocks in the database.
// In the background they go to the folder of the log, where a checkpoint is signed over them. If the entries of a turn
// cannot be written, the turn is lost: there is no action without its entry.
import type { Logger } from "../plugin/logger.ts";
import type { Database } from "../plugin/ports/database.ts";
import { formatRemark, type Remark } from "./audit-block.ts";
import { BlockBuilder, type WriteLine } from "./block-builder.ts";
import { BlockStore } from "./block-store.ts";
import type { AuditKey } from "./key-file.ts";
import { LogWriter } from "./log-writer.ts";
import { Pruning, type Retention } from "./pruning.ts";
import { TileFolder } from "./tiles.ts";

export interface ProvenAuditOptions<Entry> {
  database: Database;
  /** The folder of the log. */
  path: string;
  key: AuditKey;
  writeLine: WriteLine<Entry>;
  /** Milliseconds since 1970. */
  clock(): number;
  log: Logger;
  retention?: Retention;
  /** The shortest time between two checkpoints. */
  checkpointMs?: number;
  /** Blocks in memory that could not be written to the folder; beyond this limit turns are lost. */
  maxPendingBytes?: number;
  /** Called with each new checkpoint, for example to have it witnessed. */
  onCheckpoint?(note: string, size: number): void;
}

export class ProvenAudit<Entry> {
  readonly #options: ProvenAuditOptions<Entry>;
  readonly #database: Database;
  readonly #writer: LogWriter;
  readonly #store: BlockStore;
  readonly #builder: BlockBuilder<Entry>;
  readonly #pruning: Pruning;
  /** Counts the turns that have ended. */
  #ended = 0;
  /** Whether this turn has entries, and its end will be called back. */
  #isTurn = false;
  /** Why the entries of this turn cannot be written. */
  #turnError: Error | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #closing: Promise<void> | undefined;

  /** Throws if the log in the folder is damaged, or shorter than the database says. */
  constructor(options: ProvenAuditOptions<Entry>) {
    this.#options = options;
    this.#database = options.database;
    this.#builder = new BlockBuilder(options.writeLine);
    const folder = new TileFolder(options.path);
    this.#writer = new LogWriter(folder, options.key.signer);
    this.#pruning = new Pruning(folder, options.retention ?? {});
    this.#store = new BlockStore(options.database, () => this.#dropTurn());
    this.#resume();
  }

  #resume(): void {
    const { size } = this.#writer;
    const { next } = this.#store;
    this.#store.release(size);
    if (this.#writer.signed.note === "" && this.#options.key.isNew) {
      this.#store.restart(0);
      this.#remark({ audit: "began", ts: this.#now(), ...(next > 0 ? { previous: next } : {}) });
    } else if (next < size) {
      // A checkpoint is signed over turns that the database has reported as durable. It has lost them since, so with
      // `durability: process` the power has failed. An auditor must not take this for a forged log.
      this.#store.restart(size);
      this.#remark({ audit: "lost", ts: this.#now(), from: next, to: size });
      this.#options.log.warn("the database has lost turns that are in the audit log", { from: next, to: size });
    } else {
      const blocks = this.#store.blocksFrom(size);
      if (blocks.length < next - size)
        throw new Error(
          `the audit log in ${this.#options.path} has ${size} entries, but ${next - blocks.length} were written to it: restore the folder. To begin a new log instead, move the folder and its key away`,
        );
      this.#confirm(blocks);
    }
  }

  /** Adds an entry to this turn. Must be called in the turn in which the answer is journalled. */
  record(entry: Entry): void {
    this.#openTurn();
    try {
      this.#builder.add(entry);
    } catch (error) {
      this.#turnError ??= error as Error;
    }
  }

  #openTurn(): void {
    if (this.#isTurn) return;
    const turn = this.#ended;
    this.#database.beforeCommit((error) => {
      // A lost turn may be reported when a later turn has entries.
      if (turn === this.#ended) this.#endTurn(error);
    });
    this.#isTurn = true;
  }

  /** The turn is lost, and its entries with it. */
  #dropTurn(): Buffer[] {
    this.#ended += 1;
    this.#isTurn = false;
    this.#turnError = undefined;
    return this.#builder.take();
  }

  #endTurn(error: Error | undefined): void {
    const failure = this.#turnError;
    const blocks = this.#dropTurn();
    if (error !== undefined) return;
    if (failure !== undefined) throw failure;
    if (this.#writer.pendingBytes > (this.#options.maxPendingBytes ?? 64 * 1024 * 1024))
      throw new Error(`the audit log in ${this.#options.path} cannot be written`);
    this.#add(blocks);
  }

  #add(blocks: readonly Buffer[], ended: (error?: Error) => void = () => {}): void {
    for (const block of blocks) this.#store.add(block);
    this.#database.afterCommit((error) => {
      if (error === undefined) this.#confirm(blocks);
      ended(error);
    });
  }

  /** The log says something about itself, in a block of its own. */
  #remark(remark: Remark, ended: (error?: Error) => void = () => {}): void {
    this.#database.beforeCommit((error) => {
      if (error === undefined) this.#add([Buffer.from(formatRemark(remark))], ended);
      else ended(error);
    });
  }

  #confirm(blocks: readonly Buffer[]): void {
    for (const block of blocks) this.#writer.append(block);
    if (blocks.length > 0) this.#schedule();
  }

  #schedule(): void {
    if (this.#closing !== undefined) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#signAndPrune().catch(() => this.#schedule());
    }, this.#options.checkpointMs ?? 1000).unref();
  }

  async #signAndPrune(): Promise<void> {
    try {
      const before = this.#writer.signed.size;
      await this.#writer.sign();
      const { note, size } = this.#writer.signed;
      this.#store.release(size);
      if (size > before) this.#options.onCheckpoint?.(note, size);
      await this.#prune(size);
      if (this.#isFailing) this.#options.log.warn("the audit log is written again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.log.error("the audit log cannot be written", { error });
      this.#isFailing = true;
      throw error;
    }
  }

  async #prune(size: number): Promise<void> {
    const { announce, prune } = this.#pruning.check(size, this.#options.clock());
    if (announce !== undefined && this.#closing === undefined) {
      const ended = (error?: Error) => this.#pruning.announced(error === undefined ? this.#writer.size : undefined);
      this.#remark({ audit: "pruned", ts: this.#now(), minimum: announce }, ended);
    }
    if (prune !== undefined) await this.#writer.prune(prune);
  }

  #now(): number {
    return this.#options.clock() / 1000;
  }

  /** The newest signed checkpoint; "" before the first. Everything below its size is on the disk. */
  get checkpoint(): { readonly note: string; readonly size: number } {
    return this.#writer.signed;
  }

  /** Signs everything that is durable now. Rejects if it cannot be written. */
  async sign(): Promise<string> {
    await this.#signAndPrune();
    return this.#writer.signed.note;
  }

  /** Shows that the newest checkpoint continues the log that had `older` entries. Throws if it had fewer. */
  proveConsistency(older: number): Uint8Array[] {
    return this.#writer.proveConsistency(older);
  }

  /** Signs the last entries. Must be called before the database is closed. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await new Promise<void>((resolve) => this.#database.afterCommit(() => resolve()));
    clearTimeout(this.#timer);
    // The log reports the error; the blocks are in the database.
    await this.#signAndPrune().catch(() => {});
  }
}
