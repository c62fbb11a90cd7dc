// A running program, however it was started. Ports for the rest of this folder.
import type { StreamName } from "../protocol.ts";

export interface ChildEvents {
  output(stream: StreamName, bytes: Buffer): void;
  /** The program has ended; its remaining output may still arrive. Called once, before `closed`. */
  exited(code: number | null, signal: NodeJS.Signals | null): void;
  /** All output has been read, including that of its children. Called once. */
  closed(): void;
}

export interface Child {
  /** The process id of its group leader. */
  readonly pid: number;
  /** The report of a shell or sandbox in between about the program's end; complete once `closed` was called. */
  readonly report: string;
  /** Bytes of input that the program has not read yet; undefined if its input is closed. */
  readonly pendingInput: number | undefined;
  write(bytes: Buffer): void;
  endInput(): void;
  /** Stops reading its output, so that the program has to wait. */
  pause(): void;
  resume(): void;
  /** Only if it is on a terminal. */
  resize?(cols: number, rows: number): void;
  /** Closes its pipes; `closed` follows. */
  destroy(): void;
}

export interface ChildCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The program is confined by a sandbox, which reports its end on the `reportDescriptor`. */
  readonly isReported: boolean;
}
