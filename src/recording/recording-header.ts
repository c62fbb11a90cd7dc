// The header of a recording: the facts about the host and the session that a replay needs.
import type { HostOptions } from "../host/host.ts";
import type { SessionOrigin } from "../host/ports/journal.ts";
import type { TappedSession } from "../host/session/session-origin.ts";
import type { LoadedPlugin } from "../plugin/plugin.ts";
import type { Limits } from "../protocol/limits.ts";
import { type RecordingHeader, recordingFormat } from "./recording.ts";

export function toHeader(
  { id: session_id, beginning: { origin, restoreFrom }, sources }: TappedSession,
  host: Required<Pick<HostOptions, "isHandshakeRequired" | "snapshotMode">> & {
    limits: Limits;
    isAuthorizing: boolean;
  },
  plugins: readonly LoadedPlugin[],
): RecordingHeader {
  return {
    a2e_recording: recordingFormat,
    session_id,
    recorded_at: sources.clock.now(),
    host: {
      started_at: sources.startedAt,
      is_handshake_required: host.isHandshakeRequired,
      snapshot_mode: host.snapshotMode,
      ...(host.isAuthorizing ? { is_authorizing: true } : {}),
      limits: host.limits,
      plugins: plugins.map(({ name, plugin }) => ({ name, capability: plugin.capability.name })),
    },
    ...(origin === undefined ? {} : { origin: toRecordedOrigin(origin) }),
    ...(restoreFrom === undefined ? {} : { restore_from: restoreFrom }),
  };
}

function toRecordedOrigin(origin: SessionOrigin): NonNullable<RecordingHeader["origin"]> {
  const { record, states, lines, lastSeq, acknowledged } = origin;
  const entries = [...states].map(([name, state]) => [name, Object.fromEntries(state.entries())]);
  return { record, states: Object.fromEntries(entries), lines: [...lines], lastSeq, acknowledged };
}
