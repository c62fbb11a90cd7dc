// One workspace and the programs that may write to it. It is counted while they run, the more often the less is left.
import { availableParallelism } from "node:os";
import type { Freezer } from "../control-groups/freezer.ts";
import type { Count } from "./workspace-size.ts";

export interface WatchedProgram {
  /** What the workspace may grow by while this program runs. */
  readonly maxBytes: number;
  /** The largest file that it may write. */
  readonly maxFileBytes: number;
  /** Called once, when there is more. */
  onFull(): void;
  /** What the machine offers for this program; it may be known only after the program was added. */
  control?(): ProgramControl | undefined;
}

/** What control groups add: fewer counts, and nothing is written during one. */
export interface ProgramControl {
  readonly freezer: Freezer | undefined;
  /** Processor time of all its processes since the beginning. */
  processorMs(): number;
}

export interface CountRequest {
  /** Counting may stop as soon as the sum is above this. */
  enough: number;
  maxFileBytes: number;
  previous: Count;
}

export interface WatchedWorkspaceOptions {
  /** Before the first program. */
  first: Count;
  count(request: CountRequest): Promise<Count>;
}

const gibibyte = 1024 ** 3;

/** What one processor copies to files at most; several share one memory and one disk. */
const fastestWriter = 2 * gibibyte;
const maxWriters = 8;
const bytesPerMs = (fastestWriter * Math.min(availableParallelism(), maxWriters)) / 1000;

/** In one millisecond of processor time: a disk that copies by itself takes more than a processor can. */
const bytesPerProcessorMs = (8 * fastestWriter) / 1000;

/** Stands for the processor time of a program whose time nobody measures: more than any count would let pass. */
const unknownMs = 1e9;

/** Programs run for this long between two counts even if nothing is left, so that they can clear up. */
const minRunMs = 10;
const maxRunMs = 2_000;

export class WatchedWorkspace {
  readonly #options: WatchedWorkspaceOptions;
  readonly #programs = new Set<WatchedProgram>();
  #last: Count;
  /** Of programs that run: their processor time at the last count. */
  readonly #counted = new Map<WatchedProgram, number>();
  /** Processor time since the last count, of programs that have ended. */
  #endedMs = 0;
  /** How long the last count took. */
  #countMs = 0;
  /** For how long programs may run before the next count. */
  #allowedMs = maxRunMs;
  /** When the first of the programs that run now started. */
  #runningSince = 0;
  #timer: NodeJS.Timeout | undefined;
  #counting: Promise<void> | undefined;

  constructor(options: WatchedWorkspaceOptions) {
    this.#options = options;
    this.#last = options.first;
  }

  /** What programs have added, at the last count. */
  get addedBytes(): number {
    return this.#last.bytes - this.#options.first.bytes;
  }

  /** Counts before a program starts, if the last count is not enough to let one run that may add this much. */
  async refresh(maxBytes: number): Promise<void> {
    if (this.#allowedMs > 0 && this.addedBytes <= maxBytes) return;
    // A count that is under way may stop early.
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

  /** Programs that have used no processor time, such as a server without visitors, have written nothing. */
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
    // During the count, programs would fill what is left.
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
      // The host lacks memory, threads or file handles, which is not for programs to pay: it tries again.
    }
    this.#countMs = performance.now() - startedAt;
  }

  /** Such that the fastest programs fill no more than half of what is left. */
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
