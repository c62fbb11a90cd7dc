// The limits of the proc capability with their defaults; the plugin's options override those that they name.

export const procLimits = {
  /** Processes of one session that run at once. */
  maxProcs: 16,
  /** Processes of all sessions that run at once. */
  maxProcsTotal: 128,
  /** Detached processes of the host that run at once. */
  maxDetached: 16,
  /** Bytes that a process may write in its life; beyond it is ended. 0 is no limit. */
  maxOutputBytes: 256 * 1024 * 1024,
  /** The newest output of a process, kept for readers. */
  ringBytes: 1024 * 1024,
  /** Pieces of output of alternating streams in one ring: each costs more than the byte it may hold. */
  maxRingSegments: 16_384,
  /** Ended processes of a session whose status and output can still be asked for. */
  maxEnded: 64,
  /** Output kept of them in all; the status of those whose output had to go stays. */
  maxEndedBytes: 8 * 1024 * 1024,
  /** Input of a process that it has not read yet; what does not fit is refused. */
  maxPendingInputBytes: 1024 * 1024,
  /** Seconds of a process that asks for none itself. */
  timeoutSeconds: 3600,
  /** The most seconds that a process may ask for. */
  maxTimeoutSeconds: 24 * 60 * 60,
  /** Seconds between SIGTERM and SIGKILL. */
  graceSeconds: 2,
  /** How long output that others of its group still hold open is waited for after a process has ended. */
  drainMs: 500,
  /** How long a signal is kept for a program whose sandbox or terminal is still being made. */
  setUpMs: 2_000,
  /** How long the end of a session waits for processes that do not even end when they are killed. */
  lingerMs: 2_000,
  /** Characters of a command that are kept for its status. */
  maxKeptCommand: 8 * 1024,
  /** Bytes of one event. */
  maxEventBytes: 64 * 1024,
  /** Said to an agent that has not taken it yet: beyond, output waits in the ring. */
  maxUnsentBytes: 1024 * 1024,
  /** How long a process is held for an agent that takes nothing; then it goes on, and the ring keeps the newest. */
  stallMs: 5_000,
  /** How long the answer to a kill waits for the end. */
  killSettleMs: 100,
} as const satisfies Record<string, number>;
