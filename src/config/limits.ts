// The limits as a host config spells them. Names and defaults come from the one table of limits; only the words are here.
import { z } from "zod";
import { defaultLimits, type Limits } from "../protocol/limits.ts";
import { maxTimerMs } from "../protocol/timers.ts";

const descriptions: Record<keyof Limits, string> = {
  maxLineBytes: "Longest message line a peer may send.",
  maxDepth: "Deepest nesting of a message.",
  maxIdLength: "Longest message id a peer may choose.",
  maxBodyBytes: "Largest body of one POST /send.",
  intakeSliceMs: "Received lines are handled for this long in one turn of the event loop; the rest waits for the next.",
  maxUnsentBytes: "Bytes of answers of one session that no reader has taken; beyond it, its further lines wait.",
  maxIntakeBytes: "Bytes of received lines of one session that wait; beyond it, its connection is not read.",
  intakeWaitMs: "A POST to a session whose lines wait is answered with 429 after this.",
  maxLinesBeforeHandshake: "Lines a peer may send before its handshake has succeeded; then its session is closed.",
  maxBytesBeforeHandshake: "Bytes a peer may send before its handshake has succeeded; also the largest body of a POST.",
  maxParallelCalls: "Calls of one session that run at once; told to the agent in the handshake.",
  maxQueuedCalls: "Calls of one session that wait for a free slot; beyond it they are answered with rate_limited.",
  callTimeoutMs: "A call that names no timeout of its own ends after this.",
  maxCallTimeoutMs: "The longest timeout a call may ask for.",
  maxCallDepth: "Calls within calls: a chain that runs a chain, and so on.",
  askTimeoutMs: "How long an agent may take to answer what the host asks it, unless the asker says otherwise.",
  maxPendingAsks: "Questions to one agent that wait for its answer.",
  maxEventsPerCall: "Events one call may send; later ones are dropped and counted in the log.",
  maxRememberedAnswers: "Answers remembered per session, so that a repeated id is answered and not run again.",
  maxRememberedMessages: "The same for an agent in the host's own process, where no link can lose a message.",
  maxRememberedBytes: "Bytes of remembered answers per session.",
  maxOutboundLines: "Lines kept per session until its peer has them.",
  maxOutboundBytes: "Bytes kept per session until its peer has them; what falls out is announced as a gap.",
  maxReplayBytes: "Bytes kept per session that were written but not acknowledged: a cut may have swallowed them.",
  maxReaderBytes: "Bytes written to one reader before it must drain.",
  maxSessions: "Sessions of this host.",
  sessionIdleMs: "A session with no message and no reader for this long is closed.",
  sessionMaxAgeMs: "A session older than this is closed.",
  handshakeTimeoutMs: "A session that has not shaken hands by then is closed.",
  maxHandshakeAttempts: "Failed handshakes in one session before it is closed.",
  maxRecordingBytes: "Bytes of the recording of one session, where sessions are recorded; the rest is not recorded.",
  drainMs: "A closing host waits this long for calls in flight.",
};

/** Limits for which zero says something: none of it. Elsewhere it would make a host that serves nobody. */
const mayBeZero: ReadonlySet<string> = new Set<keyof Limits>([
  "maxQueuedCalls",
  "maxEventsPerCall",
  "maxRememberedAnswers",
  "maxRememberedMessages",
  "maxRememberedBytes",
  "maxReplayBytes",
  "drainMs",
]);

/** Where more would not be more: a text has to fit into one string of the engine, and messages are copied by recursion. */
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
