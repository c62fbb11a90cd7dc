// Every limit of the product, with its default, in a single place. A host config overrides them under `limits`.

export const defaultLimits = {
  /** Longest line that a peer may send. A longer line is answered with `invalid_message` and skipped, not buffered. */
  maxLineBytes: 8 * 1024 * 1024,
  /** Deepest nesting of a message; a deeper message would overflow the stack of recursive code. */
  maxDepth: 64,
  /** Longest id a peer may choose: ids are kept for deduplication. */
  maxIdLength: 256,
  /** Largest body of a POST /send. */
  maxBodyBytes: 32 * 1024 * 1024,
  /** Received lines are handled for this long in one turn of the event loop; the rest waits for the next turn. */
  intakeSliceMs: 5,
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
  /** Calls of a session that run at once; announced to the agent in the handshake. */
  maxParallelCalls: 4,
  /** Calls of a session that wait for a free slot; further calls are answered with `rate_limited`. */
  maxQueuedCalls: 1024,
  /** A call that names no timeout of its own ends after this. */
  callTimeoutMs: 300_000,
  /** The longest timeout a call may ask for. */
  maxCallTimeoutMs: 3_600_000,
  /** Calls within calls: a chain that runs a chain, and so on. */
  maxCallDepth: 16,
  /** How long an agent may take to answer a question of the host, unless the question sets its own limit. */
  askTimeoutMs: 120_000,
  /** Questions to an agent that wait for its answer. */
  maxPendingAsks: 256,
  /** Events that a call may send; further events are dropped and their number is logged. */
  maxEventsPerCall: 100_000,
  /** Answers remembered per session, so that a repeated id is answered and not run again. */
  maxRememberedAnswers: 1024,
  /** The same for an agent in the host's own process, to which no message can be lost. */
  maxRememberedMessages: 64,
  /** Bytes of remembered answers per session. */
  maxRememberedBytes: 4 * 1024 * 1024,
  /** Lines kept per session until its peer has them. */
  maxOutboundLines: 16_384,
  /** Bytes kept per session until its peer has them; lines beyond it are dropped and announced as a gap. */
  maxOutboundBytes: 8 * 1024 * 1024,
  /** Bytes kept per session that were written to every reader and not acknowledged: a cut may have swallowed them. */
  maxReplayBytes: 1024 * 1024,
  /** Bytes written to a reader before it must drain. */
  maxReaderBytes: 1024 * 1024,
  /** Sessions of a host that an agent has opened. */
  maxSessions: 10_000,
  /** Sessions of remote peers that wait for a handshake; one of them is closed for each that comes after. */
  maxUnopenedSessions: 256,
  /** The same for one address. */
  maxUnopenedPerAddress: 32,
  /** A session with no message and no reader for this long is closed. */
  sessionIdleMs: 30 * 60_000,
  /** A session older than this is closed. */
  sessionMaxAgeMs: 24 * 60 * 60_000,
  /** A session that has not shaken hands by then is closed. */
  handshakeTimeoutMs: 60_000,
  /** Failed handshakes in a session before it is closed. */
  maxHandshakeAttempts: 5,
  /** Longest narrowed token or JWT; with its other headers it must fit into the 16 KiB of an HTTP request. */
  maxTokenBytes: 8 * 1024,
  /** How often a token may be narrowed. */
  maxTokenLinks: 32,
  /** JWTs that are remembered as verified, until they expire. */
  maxVerifiedTokens: 10_000,
  /** Largest metadata or key set of an issuer of JWTs. */
  maxIssuerBytes: 256 * 1024,
  /** How long an issuer may take to send its metadata or its keys. */
  issuerTimeoutMs: 5_000,
  /** Bytes of the recording of a session, if sessions are recorded; the rest is not recorded. */
  maxRecordingBytes: 64 * 1024 * 1024,
  /** A closing host waits this long for calls in flight. */
  drainMs: 10_000,
} as const satisfies Record<string, number>;

export type Limits = { -readonly [Name in keyof typeof defaultLimits]: number };
