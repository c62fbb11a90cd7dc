// How a process ended, in the words of both dialects.
import type { ProcessExit } from "../../host/ports/sandbox.ts";
import { signalNumber } from "./group/signals.ts";
import type { FeedEvent } from "./output/feed.ts";
import type { ProcStatus } from "./protocol.ts";

/** Why the host ended a process. */
export type EndReason = "timeout" | "output_limit" | "session_ended";

/** Node makes exit code 0 of a signal that it has no name for. Of one that was sent from here, more is known. */
export function nameSignal(exit: ProcessExit, report: string, signal: NodeJS.Signals | undefined): ProcessExit {
  return exit.code === 0 && report === "" && signal !== undefined ? { code: null, signal } : exit;
}

/** `cause` is why it ended where that was not its own doing; `wasAsked` where a signal from here ended it. */
export function judgeEnd({ code, signal }: ProcessExit, cause: string, wasAsked: boolean) {
  const how = { exit_code: code, signal: signal ?? "", error: cause };
  if (cause === "timeout") return { status: "timeout", state: "timedout", ...how };
  if (cause === "session_ended") return { status: "killed", state: "stopped", ...how };
  if (cause !== "") return { status: "failed", state: "crashed", ...how };
  if (wasAsked) return { status: "killed", state: "stopped", ...how };
  return code === 0
    ? { status: "completed", state: "stopped", ...how }
    : { status: "failed", state: "crashed", ...how };
}

/** On the stream on which peers of the SDK look for it. */
export function toEndEvent({ exit_code, signal, status, state, error }: ProcStatus): FeedEvent {
  const code = exit_code ?? -signalNumber(signal);
  const stream_type = signal === "" ? (code === 0 ? "stdout" : "stderr") : "killed";
  return { kind: "status", stream_type, data: { code, exit_code, signal, status, state, error } };
}
