// A recording as text: a header line, then a JSON array per line, in the order of the events.
import { z } from "zod";
import type { SessionRecord } from "../host/session/session-record.ts";
import { type JsonValue, jsonObject } from "../protocol/json.ts";
import { type RecordedError, recordedError } from "./recorded-error.ts";
import { type RecordedTools, recordedTools } from "./recorded-tools.ts";
import type { EffectKind } from "./tape.ts";

/** Raise it if a reader of the old format would misread the new format. */
export const recordingFormat = 3;
const readableFormats = [1, 2, recordingFormat];

const recordedOrigin = z.object({
  record: z.custom<SessionRecord>((value) => sessionRecord.safeParse(value).success),
  /** The state of each plugin. */
  states: z.record(z.string(), jsonObject),
  lines: z.array(z.string()),
  lastSeq: z.int(),
  acknowledged: z.int(),
});

const sessionRecord = z.object({
  principal: z.looseObject({ id: z.string(), isAuthenticated: z.boolean() }),
  granted: z.array(z.string()),
  dialect: z.enum(["sdk", "docs", "full"]),
  createdAt: z.number(),
  lastActiveAt: z.number(),
  parent: z.string().optional(),
});

/** Format 1 had the fields of the record beside the others, and names of its own for some of them. */
function fromFormat1(origin: unknown): unknown {
  if (typeof origin !== "object" || origin === null || !("created_at" in origin)) return origin;
  const { created_at, last_seq: lastSeq, states, lines, acknowledged, ...about } = origin as Record<string, unknown>;
  return {
    record: { ...about, createdAt: created_at, lastActiveAt: created_at },
    states,
    lines,
    lastSeq,
    acknowledged,
  };
}

export const recordingHeader = z.object({
  a2e_recording: z.union(readableFormats.map((format) => z.literal(format))),
  session_id: z.string(),
  /** Milliseconds since 1970. */
  recorded_at: z.number(),
  host: z.object({
    started_at: z.number(),
    is_handshake_required: z.boolean(),
    snapshot_mode: z.enum(["host", "plugin", "hybrid"]),
    /** The host gave its principals rights, which are recorded. Absent in recordings of earlier releases. */
    is_authorizing: z.boolean().optional(),
    limits: z.record(z.string(), z.number()),
    plugins: z.array(z.object({ name: z.string(), capability: z.string() })),
  }),
  /** The state that the session began with, if it was recovered from the journal or forked. */
  origin: z.preprocess(fromFormat1, recordedOrigin.optional()),
  /** The snapshot that it was restored from. */
  restore_from: z.object({ snapshot_id: z.string(), state: jsonObject }).optional(),
});

export type RecordingHeader = z.output<typeof recordingHeader>;

/**
 * How an effect ended: with a result, an error, or `again` for an effect that called the session itself and must do so
 * again.
 */
export type Outcome = { value?: JsonValue } | { error: RecordedError } | { again: true };

export type RecordingEntry =
  /**
   * Precedes a line that arrived after all earlier work had proceeded as far as it could; there is none between lines
   * that arrived together.
   */
  | ["turn"]
  /** A line from the agent; null for a line that was too long. */
  | ["in", string | null]
  /** The time of a call was over. */
  | ["expire", string]
  /** A line of the session's own. */
  | ["out", string]
  /** A line that others caused: another session, the operator, or an effect, which is named. It is not compared. */
  | ["aside", string, string?]
  /** Scope, kind, and the value, absent for undefined. */
  | ["value", string, string, JsonValue?]
  | ["thrown", string, string, RecordedError]
  /** An event of a tool that runs: the effect, whether the event came synchronously, its kind and data. */
  | ["event", string, boolean, string, JsonValue]
  /** Effect, kind, whether it ended at once, and how. */
  | ["effect", string, EffectKind, boolean, Outcome]
  /** A message from outside to the effect of this id, which receives it. */
  | ["message", string, JsonValue]
  /** The tools that others offer to the session: first as it looks at its tools, then whenever they have changed. */
  | ["tools", RecordedTools]
  /** `closed`, or why the rest is missing. */
  | ["end", string];

const json = z.custom<JsonValue>((value) => value !== undefined);
/** A message as the session sent it. */
const line = z.string().refine((text) => {
  try {
    const message: unknown = JSON.parse(text);
    return typeof message === "object" && message !== null;
  } catch {
    return false;
  }
});
const outcome = z.union([
  z.strictObject({ error: recordedError }),
  z.strictObject({ again: z.literal(true) }),
  z.strictObject({ value: json.optional() }),
]);
const shapes: Record<RecordingEntry[0], z.ZodType> = {
  turn: z.tuple([z.literal("turn")]),
  in: z.tuple([z.literal("in"), z.string().nullable()]),
  expire: z.tuple([z.literal("expire"), z.string()]),
  out: z.tuple([z.literal("out"), line]),
  aside: z.tuple([z.literal("aside"), line, z.string().optional()]),
  value: z.tuple([z.literal("value"), z.string(), z.string(), json.optional()]),
  thrown: z.tuple([z.literal("thrown"), z.string(), z.string(), recordedError]),
  event: z.tuple([z.literal("event"), z.string(), z.boolean(), z.string(), json]),
  effect: z.tuple([
    z.literal("effect"),
    z.string(),
    z.enum(["tool", "store", "replay", "outside"]),
    z.boolean(),
    outcome,
  ]),
  message: z.tuple([z.literal("message"), z.string(), json]),
  tools: z.tuple([z.literal("tools"), recordedTools]),
  end: z.tuple([z.literal("end"), z.string()]),
};

export interface Recording {
  readonly header: RecordingHeader;
  readonly entries: readonly RecordingEntry[];
  /** Why the end is missing; undefined if the recording reaches the end of its session. */
  readonly cut: string | undefined;
}

/** The text is not a recording that can be replayed; the message contains the reason. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

/** A torn last line is left by a killed host and is not damage; any other line that cannot be read is. */
export function parseRecording(text: string): Recording {
  const lines = text.split("\n");
  const torn = lines.pop() ?? "";
  const header = parseHeader(lines[0] ?? torn);
  const entries = lines.slice(1).map((line, index) => parseEntry(line, index + 2));
  const last = entries.at(-1);
  if (last?.[0] !== "end")
    return { header, entries, cut: torn === "" ? "the session went on" : "its last line is torn" };
  return { header, entries: entries.slice(0, -1), cut: last[1] === "closed" ? undefined : last[1] };
}

function parseHeader(line: string): RecordingHeader {
  const value = parseLine(line, 1);
  const format = (value as { a2e_recording?: unknown } | null)?.a2e_recording;
  if (typeof format !== "number")
    throw new RecordingError("this is not a recording of a session: its first line is not a header");
  if (!readableFormats.includes(format)) {
    const by = format > recordingFormat ? "was written by a newer release" : "is no longer read";
    throw new RecordingError(
      `format ${format} of recordings ${by}; this release reads ${readableFormats[0]} to ${recordingFormat}`,
    );
  }
  const parsed = recordingHeader.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new RecordingError(`line 1 is damaged: ${parsed.error.issues[0]?.path.join(".")}`);
}

function parseEntry(line: string, number: number): RecordingEntry {
  const value = parseLine(line, number);
  const kind: unknown = Array.isArray(value) ? value[0] : undefined;
  const shape = typeof kind === "string" && Object.hasOwn(shapes, kind) ? shapes[kind as RecordingEntry[0]] : undefined;
  if (shape?.safeParse(value).success !== true)
    throw new RecordingError(`line ${number} is damaged: no entry of a recording`);
  return value as RecordingEntry;
}

function parseLine(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new RecordingError(`line ${number} is damaged: not JSON`);
  }
}
