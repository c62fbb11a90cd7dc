// What a benchmark is: cases that do the same work, and bars that say how they must compare.

/** What one round of one case yields. */
export interface Sample {
  /** Operations per second. */
  perSecond: number;
  /** Processor time of all processes of the case, in microseconds per operation. */
  cpuUs: number;
  p50Us?: number;
  p99Us?: number;
  /** Heap per thing that was made, in kB. */
  heapKb?: number;
  /** How long all of it took, where the amount of work is the question. */
  totalMs?: number;
}

export interface RunningCase {
  /** Works for about `ms` (or a fixed amount, where the amount is the question) and says how it went. */
  round(ms: number): Promise<Sample>;
  /** Ends whatever the case started. Throws where its work turns out not to have been done. */
  close(): Promise<void>;
}

export interface BenchCase {
  readonly title: string;
  /** Called in a process that holds this case alone: its own heap, its own compiled code. */
  start(): Promise<RunningCase>;
  /** Keeps the process, and those it starts, on one core. */
  readonly isPinned?: boolean;
  /** Takes a new process for every round, where a second one would find everything made already. */
  readonly isFreshEachRound?: boolean;
}

/** A ratio of ours to a peer's, taken within each round; the median of the rounds counts. */
export interface Bar {
  readonly id: string;
  readonly ours: string;
  readonly peer: string;
  readonly measure: keyof Sample;
  /** `atLeast` for what should be high, `atMost` for what should be low; neither for what is only reported. */
  readonly atLeast?: number;
  readonly atMost?: number;
  /** What is compared with what, for the table in the README; a bar without it is not shown there. */
  readonly claim?: string;
}

export interface Benchmark {
  readonly id: string;
  readonly title: string;
  readonly cases: Readonly<Record<string, BenchCase>>;
  readonly bars: readonly Bar[];
}
