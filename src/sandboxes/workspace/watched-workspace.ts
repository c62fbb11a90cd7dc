// One workspace and the programs that may write to it. It is counted while they run, more often the less space is left.
import { availableParallelism } from "node:os";
import type { Freezer } from "../control-groups/freezer.ts";
import type { Count } from "./workspace-size.ts";

export interface WatchedProgram {
  /** Bytes that the workspace may grow by while this program runs. */
  readonly maxBytes: number;
  /** The largest file that it may write. */
  readonly maxFileBytes: number;
  /** Called once, when the workspace has grown by more. */
  onFull(): void;
  /** The control group of the program; it may be known only after the program was added. */
  control?(): ProgramControl | undefined;
}

/** With control groups, fewer counts are needed, and programs can be frozen during a count. */
export interface ProgramControl {
  readonly freezer: Freezer | undefined;
  /** CPU time of all its processes since the beginning. */
  processorMs(): number;
}

export interface CountRequest {
  /** Counting may stop as soon as the sum is above this. */
  enough: number;
  maxFileBytes: number;
  previous: Count;
}

export interface WatchedWorkspaceOptions {
  /** The count before the first program. */
  first: Count;
  count(request: CountRequest): Promise<Count>;
}

const gibibyte = 1024 ** 3;

/** The highest rate at which one processor copies to files; several share one memory and one disk. */
const fastestWriter = 2 * gibibyte;
const maxWriters = 8;
const bytesPerMs = (fastestWriter * Math.min(availableParallelism(), maxWriters)) / 1000;

/** In one millisecond of CPU time: a disk that copies by itself is faster than a processor. */
const bytesPerProcessorMs = (8 * fastestWriter) / 1000;

/** The CPU time of a program that is not measured: high enough to always require a count. */
const unknownMs = 1e9;

/** Programs run for this long between two counts even if no space is left, so that they can clean up. */
const minRunMs = 10;
const maxRunMs = 2_000;

export class WatchedWorkspace {
  readonly #options: WatchedWorkspaceOptions;
  readonly #programs = new Set<WatchedProgram>();
  #last: Count;
  /** CPU time of the running programs at the last count. */
  readonly #counted = new Map<WatchedProgram, number>();
  /** CPU time since the last count, of programs that have ended. */
  #endedMs = 0;
  /** How long the last count took. */
  #countMs = 0;
  /** For how long programs may run before the next count. */
  #allowedMs = maxRunMs;
  /** The start of the current period in which programs run. */
  #runningSince = 0;
  #timer: NodeJS.Timeout | undefined;
  #counting: Promise<void> | undefined;

  constructor(options: WatchedWorkspaceOptions) {
    this.#options = options;
    this.#last = options.first;
  }

  /** Bytes that programs have added, at the last count. */
  get addedBytes(): number {
    return this.#last.bytes - this.#options.first.bytes;
  }

  /** Counts before a program starts, unless the last count shows that a program may run that adds `maxBytes`. */
  async refresh(maxBytes: number): Promise<void> {
    if (this.#allowedMs > 0 && this.addedBytes <= maxBytes) return;
    // A count that is in progress may stop early.
    await this.#counting;
    await this.#count(Number.POSITIVE_INFINITY);
    this.#allowedMs = this.#runMs();
  }

  add(program: WatchedProgram): void {
    this.#pause();
    this.#programs.add(program);
    this.#counted.set(program, 0);
    this.#allowedMs = Math.min(this.#allowedMs, this.#runMs());
    this.#resume();
  }

  remove(program: WatchedProgram): void {
    if (this.#programs.delete(program)) this.#endedMs += this.#uncountedMs(program);
    this.#counted.delete(program);
    if (this.#programs.size === 0) this.#pause();
  }

  #resume(): void {
    if (this.#programs.size === 0 || this.#timer !== undefined) return;
    this.#runningSince = performance.now();
    this.#timer = setTimeout(() => void this.#look(), Math.max(0, this.#allowedMs)).unref();
  }

  /** Without programs nothing is counted. The time that they have run is used up. */
  #pause(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#allowedMs -= performance.now() - this.#runningSince;
  }

  async #look(): Promise<void> {
    if (this.#isToBeCounted()) await this.#countAndJudge();
    this.#pause();
    this.#allowedMs = this.#runMs();
    this.#resume();
  }

  /** Programs that have used no CPU time, such as an idle server, have written nothing. */
  #isToBeCounted(): boolean {
    let processorMs = this.#endedMs;
    for (const program of this.#programs) processorMs += this.#uncountedMs(program);
    return processorMs * bytesPerProcessorMs > this.#leftBytes() / 2;
  }

  #uncountedMs(program: WatchedProgram): number {
    const control = program.control?.();
    if (control === undefined) return unknownMs;
    return Math.max(0, control.processorMs() - (this.#counted.get(program) ?? 0));
  }

  async #countAndJudge(): Promise<void> {
    // During the count, programs could fill the remaining space.
    const isTight = this.#leftBytes() < 4 * bytesPerMs * this.#countMs;
    const frozen = isTight ? [...this.#programs] : [];
    await Promise.all(frozen.map((program) => program.control?.()?.freezer?.freeze()));
    await this.#count(Math.max(...this.#limits()));
    const full = [...this.#programs].filter(({ maxBytes }) => this.addedBytes > maxBytes);
    for (const program of full) {
      this.remove(program);
      program.onFull();
    }
    // Programs that are ended stay frozen until they are killed.
    const others = frozen.filter((program) => !full.includes(program));
    await Promise.all(others.map((program) => program.control?.()?.freezer?.thaw()));
  }

  /** One at a time: a second caller gets the result of the first. */
  #count(enough: number): Promise<void> {
    this.#counting ??= this.#countNow(enough).finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countNow(enough: number): Promise<void> {
    const { first, count } = this.#options;
    const startedAt = performance.now();
    const maxFileBytes = Math.max(0, ...Array.from(this.#programs, (program) => program.maxFileBytes));
    const endedMs = this.#endedMs;
    const counted = Array.from(this.#programs, (program) => ({ program, ms: program.control?.()?.processorMs() ?? 0 }));
    try {
      this.#last = await count({ enough: first.bytes + enough, maxFileBytes, previous: this.#last });
      this.#endedMs -= endedMs;
      for (const { program, ms } of counted) if (this.#programs.has(program)) this.#counted.set(program, ms);
    } catch {
      // The host lacks memory, threads or file handles, which is not the programs' fault: the count is retried.
    }
    this.#countMs = performance.now() - startedAt;
  }

  /** Chosen so that even the fastest programs fill at most half of the remaining space. */
  #runMs(): number {
    return Math.min(maxRunMs, Math.max(minRunMs, this.#leftBytes() / bytesPerMs / 2));
  }

  #leftBytes(): number {
    return Math.min(...this.#limits()) - this.addedBytes;
  }

  #limits(): number[] {
    return Array.from(this.#programs, ({ maxBytes }) => maxBytes);
  }
}
