// What a process is told when it is made.
import type { Confinement } from "../../host/ports/sandbox.ts";
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
  /** An agent is about to follow it: what it writes before that waits, rather than being lost to what comes after it. */
  readonly isAwaited: boolean;
  /** What finds it where it has left its group. */
  readonly mark: string;
  readonly clock: Clock;
  readonly limits: ProcessLimits;
  /** It is over, and nothing of it is left. */
  onEnded(): void;
}
