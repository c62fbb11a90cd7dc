// The beginning of a recording: what a replay must know of the host and of the session.
import type { Kernel } from "../host/kernel.ts";
import type { SessionBeginning } from "../host/session/session-origin.ts";
import { createConcealment } from "./concealment.ts";
import { Recorder } from "./recorder.ts";
import { type RecordingHeader, recordingFormat } from "./recording.ts";

/** Undefined where the host records nothing. */
export function createRecorder(kernel: Kernel, sessionId: string, beginning: SessionBeginning): Recorder | undefined {
  const { recordings, scopes, limits, registry } = kernel;
  if (recordings === undefined || scopes === undefined) return undefined;
  return new Recorder({
    header: toHeader(kernel, sessionId, beginning),
    file: recordings.create(sessionId),
    scopes,
    sources: kernel,
    maxBytes: limits.maxRecordingBytes,
    concealment: createConcealment(registry),
  });
}

function toHeader(kernel: Kernel, session_id: string, { origin, restoreFrom }: SessionBeginning): RecordingHeader {
  const { clock, startedAt, isHandshakeRequired, snapshotMode, limits, handlersOf } = kernel;
  return {
    a2e_recording: recordingFormat,
    session_id,
    recorded_at: clock.now(),
    host: {
      started_at: startedAt,
      is_handshake_required: isHandshakeRequired,
      snapshot_mode: snapshotMode,
      limits,
      plugins: [...handlersOf.values()]
        .flat()
        .map(({ name, plugin }) => ({ name, capability: plugin.capability.name })),
    },
    ...(origin === undefined ? {} : { origin: toRecordedOrigin(origin) }),
    ...(restoreFrom === undefined ? {} : { restore_from: restoreFrom }),
  };
}

function toRecordedOrigin(origin: NonNullable<SessionBeginning["origin"]>): NonNullable<RecordingHeader["origin"]> {
  const { principal, granted, dialect, createdAt, parent, states, stored } = origin;
  return {
    principal,
    granted: [...granted],
    dialect,
    created_at: createdAt,
    ...(parent === undefined ? {} : { parent }),
    states: Object.fromEntries([...states].map(([name, state]) => [name, Object.fromEntries(state.entries())])),
    lines: [...(stored?.lines ?? [])],
    last_seq: stored?.lastSeq ?? 0,
    acknowledged: stored?.acknowledged ?? 0,
  };
}
