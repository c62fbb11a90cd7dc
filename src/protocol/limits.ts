// Every limit of the product, with its default, in one place. A host config overrides them under `limits`.

export const defaultLimits = {
  /** Longest line a peer may send. Longer ones are answered with `invalid_message` and skipped, not buffered. */
  maxLineBytes: 8 * 1024 * 1024,
  /** Deepest nesting of a message; deeper ones would overflow the stack of whoever walks them. */
  maxDepth: 64,
  /** Longest id a peer may choose: ids are kept for deduplication. */
  maxIdLength: 256,
  /** Largest body of one POST /send. */
  maxBodyBytes: 32 * 1024 * 1024,
  /** Received lines are handled for this long in one turn of the event loop; the rest waits for the next turn. */
  intakeSliceMs: 10,
  /** Bytes of answers of one session that no reader has taken; beyond it, its further lines wait. */
  maxUnsentBytes: 1024 * 1024,
  /** Bytes of received lines of one session that wait; beyond it, its connection is not read. */
  maxIntakeBytes: 1024 * 1024,
  /** A POST waits this long for room before it is answered with 429. */
  intakeWaitMs: 5_000,
  /** Lines a peer may send before its handshake has succeeded; then its session is closed. */
  maxLinesBeforeHandshake: 64,
  /** Bytes a peer may send before its handshake has succeeded; also the largest body of such a POST. */
  maxBytesBeforeHandshake: 64 * 1024,
  /** Calls of one session that run at once; told to the agent in the handshake. */
  maxParallelCalls: 4,
  /** Calls of one session that wait for a free slot; beyond it `rate_limited`. */
  maxQueuedCalls: 1024,
  /** A call that names no timeout of its own ends after this. */
  callTimeoutMs: 300_000,
  /** The longest timeout a call may ask for. */
  maxCallTimeoutMs: 3_600_000,
  /** Calls within calls: a chain that runs a chain, and so on. */
  maxCallDepth: 16,
  /** How long an agent may take to answer what the host asks it, unless the asker says otherwise. */
  askTimeoutMs: 120_000,
  /** Questions to one agent that wait for its answer. */
  maxPendingAsks: 256,
  /** Events one call may send; later ones are dropped and counted in the log. */
  maxEventsPerCall: 100_000,
  /** Answers remembered per session, so that a repeated id is answered and not run again. */
  maxRememberedAnswers: 1024,
  /** The same for an agent in the host's own process, where nothing is ever sent twice by a lost link. */
  maxRememberedMessages: 64,
  /** Bytes of remembered answers per session. */
  maxRememberedBytes: 4 * 1024 * 1024,
  /** Lines kept per session until its peer has them. */
  maxOutboundLines: 16_384,
  /** Bytes kept per session until its peer has them; what falls out is announced as a gap. */
  maxOutboundBytes: 8 * 1024 * 1024,
  /** Bytes kept per session that were written to every reader and not acknowledged: a cut may have swallowed them. */
  maxReplayBytes: 1024 * 1024,
  /** Bytes written to one reader before it must drain. */
  maxReaderBytes: 1024 * 1024,
  /** Sessions of one host. */
  maxSessions: 10_000,
  /** A session with no message and no reader for this long is closed. */
  sessionIdleMs: 30 * 60_000,
  /** A session older than this is closed. */
  sessionMaxAgeMs: 24 * 60 * 60_000,
  /** A session that has not shaken hands by then is closed. */
  handshakeTimeoutMs: 60_000,
  /** Failed handshakes in one session before it is closed. */
  maxHandshakeAttempts: 5,
  /** Bytes of the recording of one session, where sessions are recorded; what comes after is not recorded. */
  maxRecordingBytes: 64 * 1024 * 1024,
  /** A closing host waits this long for calls in flight. */
  drainMs: 10_000,
} as const satisfies Record<string, number>;

export type Limits = { -readonly [Name in keyof typeof defaultLimits]: number };
