// The limits as a host config spells them. Names and defaults come from src/protocol/limits.ts; only the descriptions
// are here.
import { z } from "zod";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import { maxTimerMs } from "../protocol/timers.ts";

const descriptions: Record<keyof Limits, string> = {
  maxLineBytes: "Longest message line a peer may send.",
  maxDepth: "Deepest nesting of a message.",
  maxIdLength: "Longest message id a peer may choose.",
  maxBodyBytes: "Largest body of a POST /send.",
  intakeSliceMs: "Received lines are handled for this long in one turn of the event loop; the rest waits for the next.",
  maxUnsentBytes: "Bytes of answers of one session that no reader has taken; beyond it, its further lines wait.",
  maxIntakeBytes: "Bytes of received lines of one session that wait; beyond it, its connection is not read.",
  intakeWaitMs: "A POST to a session whose lines wait is answered with 429 after this.",
  maxLinesBeforeHandshake: "Lines a peer may send before its handshake has succeeded; then its session is closed.",
  maxBytesBeforeHandshake: "Bytes a peer may send before its handshake has succeeded; also the largest body of a POST.",
  maxParallelCalls: "Calls of one session that run at once; announced to the agent in the handshake.",
  maxQueuedCalls: "Calls of one session that wait for a free slot; further calls are answered with rate_limited.",
  callTimeoutMs: "A call that names no timeout of its own ends after this.",
  maxCallTimeoutMs: "The longest timeout a call may ask for.",
  maxCallDepth: "Calls within calls: a chain that runs a chain, and so on.",
  askTimeoutMs: "How long an agent may take to answer a question of the host, unless the question sets its own limit.",
  maxPendingAsks: "Questions to an agent that wait for its answer.",
  maxEventsPerCall: "Events that a call may send; further events are dropped and their number is logged.",
  maxRememberedAnswers: "Answers remembered per session, so that a repeated id is answered and not run again.",
  maxRememberedMessages: "The same for an agent in the host's own process, to which no message can be lost.",
  maxRememberedBytes: "Bytes of remembered answers per session.",
  maxOutboundLines: "Lines kept per session until its peer has them.",
  maxOutboundBytes:
    "Bytes kept per session until its peer has them; lines beyond it are dropped and announced as a gap.",
  maxReplayBytes: "Bytes kept per session that were written but not acknowledged: a cut may have swallowed them.",
  maxReaderBytes: "Bytes written to a reader before it must drain.",
  maxSessions: "Sessions of this host that an agent has opened.",
  maxUnopenedSessions:
    "Sessions of remote peers that wait for a handshake. For each that comes after, one of the address with the most is closed.",
  maxUnopenedPerAddress: "Sessions of one address that wait for a handshake.",
  sessionIdleMs: "A session with no message and no reader for this long is closed.",
  sessionMaxAgeMs: "A session older than this is closed.",
  handshakeTimeoutMs: "A session that has not shaken hands by then is closed.",
  maxHandshakeAttempts: "Failed handshakes in a session before it is closed.",
  maxTokenBytes: "Longest narrowed token or JWT that is accepted.",
  maxTokenLinks: "How often a token may be narrowed.",
  maxVerifiedTokens: "JWTs that are remembered as verified, until they expire.",
  maxIssuerBytes: "Largest metadata or key set of an issuer of JWTs.",
  issuerTimeoutMs: "How long an issuer may take to send its metadata or its keys.",
  maxRecordingBytes: "Bytes of the recording of a session, if sessions are recorded; the rest is not recorded.",
  drainMs: "A closing host waits this long for calls in flight.",
};

/** Limits that may be zero, which turns the feature off. Any other limit of zero would make the host useless. */
const mayBeZero: ReadonlySet<string> = new Set<keyof Limits>([
  "maxQueuedCalls",
  "maxEventsPerCall",
  "maxRememberedAnswers",
  "maxRememberedMessages",
  "maxRememberedBytes",
  "maxReplayBytes",
  "drainMs",
]);

/** Upper bounds: a text has to fit into a string of the engine, and messages are copied by recursion. */
const highest: Partial<Record<keyof Limits, number>> = {
  maxLineBytes: 256 * 1024 * 1024,
  maxBodyBytes: 256 * 1024 * 1024,
  maxDepth: 250,
};

type SnakeCase<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Uppercase<Head> ? `_${Lowercase<Head>}` : Head}${SnakeCase<Tail>}`
  : Name;

type LimitFields = { [Name in keyof Limits as SnakeCase<Name>]: z.ZodDefault<z.ZodInt> };

const limitNames = Object.keys(defaultLimits) as (keyof Limits)[];

export const globalLimits = z.strictObject(
  Object.fromEntries(limitNames.map((name) => [toSnakeCase(name), limitField(name)])) as LimitFields,
);

function limitField(name: keyof Limits) {
  const atLeast = z.int().min(mayBeZero.has(name) ? 0 : 1);
  const most = name.endsWith("Ms") ? maxTimerMs : highest[name];
  const bounded = most === undefined ? atLeast : atLeast.max(most);
  return bounded.default(defaultLimits[name]).describe(descriptions[name]);
}

/** The limits as the host uses them. */
export function toLimits(config: z.output<typeof globalLimits>): Limits {
  const byName: Readonly<Record<string, number>> = config;
  return Object.fromEntries(limitNames.map((name) => [name, byName[toSnakeCase(name)]])) as Limits;
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
