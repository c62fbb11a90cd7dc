// The settings of one process.
import type { Confinement } from "../../plugin/ports/sandbox.ts";
import type { Clock } from "../../protocol/envelope.ts";

export interface ProcessLimits {
  ringBytes: number;
  maxRingSegments: number;
  maxOutputBytes: number;
  maxPendingInputBytes: number;
  graceMs: number;
  drainMs: number;
  setUpMs: number;
  maxEventBytes: number;
  maxUnsentBytes: number;
  stallMs: number;
}

export interface ProcessOptions {
  readonly id: string;
  readonly cmd: readonly string[];
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly confinement: Confinement;
  readonly sandbox: string;
  readonly isOnTerminal: boolean;
  /** An agent is about to follow it: until then the process waits and its output is not overwritten. */
  readonly isAwaited: boolean;
  /** The mark by which it is found outside of its group. */
  readonly mark: string;
  readonly clock: Clock;
  readonly limits: ProcessLimits;
  /** The process has ended, and all its descendants are gone. */
  onEnded(): void;
}
