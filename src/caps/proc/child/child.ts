// A running program, however it was started. Ports for the rest of this folder.
import type { StreamName } from "../protocol.ts";

export interface ChildEvents {
  output(stream: StreamName, bytes: Buffer): void;
  /** The program has ended; what it wrote may still come. Called once, before `closed`. */
  exited(code: number | null, signal: NodeJS.Signals | null): void;
  /** Nothing more will be written, by it or by those it started. Called once. */
  closed(): void;
}

export interface Child {
  /** Leads a group of its own. */
  readonly pid: number;
  /** What a shell or a sandbox in between has reported of its end; complete once it is `closed`. */
  readonly report: string;
  /** Bytes that it was given and has not read; undefined where it takes no input, or no more. */
  readonly pendingInput: number | undefined;
  write(bytes: Buffer): void;
  endInput(): void;
  /** Stops reading what it writes, so that it has to wait. */
  pause(): void;
  resume(): void;
  /** Only where it is on a terminal. */
  resize?(cols: number, rows: number): void;
  /** Lets go of its pipes; `closed` follows. */
  destroy(): void;
}

export interface ChildCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Reports its end itself, on the `reportDescriptor`. */
  readonly isReported: boolean;
}
