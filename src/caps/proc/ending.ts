// How a process ended, in the terms of both dialects.
import type { ProcessExit } from "../../plugin/ports/sandbox.ts";
import { signalNumber } from "./group/signals.ts";
import type { FeedEvent } from "./output/feed.ts";
import type { ProcStatus } from "./protocol.ts";

/** Why the host ended a process. */
export type EndReason = "timeout" | "output_limit" | "session_ended" | "budget_used_up";

/** Node reports exit code 0 for a signal without a name. For a signal that this host sent, the name is known. */
export function nameSignal(exit: ProcessExit, report: string, signal: NodeJS.Signals | undefined): ProcessExit {
  return exit.code === 0 && report === "" && signal !== undefined ? { code: null, signal } : exit;
}

/** `cause` is the reason if the host or a limit ended it; `wasAsked` is true if a signal of this host did. */
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

/** On the stream that peers of the SDK read it from. */
export function toEndEvent({ exit_code, signal, status, state, error }: ProcStatus): FeedEvent {
  const code = exit_code ?? -signalNumber(signal);
  const stream_type = signal === "" ? (code === 0 ? "stdout" : "stderr") : "killed";
  return { kind: "status", stream_type, data: { code, exit_code, signal, status, state, error } };
}
