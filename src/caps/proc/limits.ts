// The limits of the proc capability with their defaults; the plugin's options override those that they name.

export const procLimits = {
  /** Processes of one session that run at once. */
  maxProcs: 16,
  /** Processes of all sessions that run at once. */
  maxProcsTotal: 128,
  /** Detached processes of the host that run at once. */
  maxDetached: 16,
  /** Bytes that a process may write in total; beyond that it is ended. 0 means no limit. */
  maxOutputBytes: 256 * 1024 * 1024,
  /** Bytes of the newest output of a process that are kept for readers. */
  ringBytes: 1024 * 1024,
  /** Segments of alternating streams in one ring: a segment of a single byte costs more than the byte. */
  maxRingSegments: 16_384,
  /** Ended processes of a session whose status and output can still be read. */
  maxEnded: 64,
  /** Bytes of output kept of all ended processes; beyond that only their status is kept. */
  maxEndedBytes: 8 * 1024 * 1024,
  /** Bytes of input that a process has not read yet; further input is rejected. */
  maxPendingInputBytes: 1024 * 1024,
  /** Seconds until a process times out if it does not ask for a timeout. */
  timeoutSeconds: 3600,
  /** The longest timeout that a process may ask for, in seconds. */
  maxTimeoutSeconds: 24 * 60 * 60,
  /** Seconds between SIGTERM and SIGKILL. */
  graceSeconds: 2,
  /** How long output is read after a process has ended, if other processes of its group hold it open. */
  drainMs: 500,
  /** How long a signal is kept for a program whose sandbox or terminal is still being set up. */
  setUpMs: 2_000,
  /** How long the end of a session waits for processes that have been killed and do not end. */
  lingerMs: 2_000,
  /** Characters of a command that are kept for its status. */
  maxKeptCommand: 8 * 1024,
  /** Bytes of one event. */
  maxEventBytes: 64 * 1024,
  /** Bytes sent to an agent that it has not received yet; beyond that, output waits in the ring. */
  maxUnsentBytes: 1024 * 1024,
  /**
   * How long a process is paused for an agent that receives nothing; then it continues, and the ring keeps the newest
   * output.
   */
  stallMs: 5_000,
  /** How long the answer to a kill waits for the process to end. */
  killSettleMs: 100,
} as const satisfies Record<string, number>;
