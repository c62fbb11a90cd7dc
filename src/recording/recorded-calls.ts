// The calls that a recording host answers in another way than the kernel would, or of whose answers it records more.
import { applyChanges, changesOf } from "../durability/forks/forked-states.ts";
import type { CallFn, InterceptedCall, Interceptor } from "../host/calls/interceptors.ts";
import type { LayeredState } from "../machinery/state/layered-state.ts";
import { PluginStates } from "../machinery/state/plugin-states.ts";
import { fork, merge, replay } from "../protocol/core.ts";
import { A2EError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { ResultInputOf } from "../protocol/table/capability.ts";
import type { ReplayReport } from "./replay-report.ts";
import type { Tape, Tapes } from "./tape.ts";

/** Live forks by their ids: the session that they were forked from, and the states of their plugins. */
export type Forks = Map<string, { readonly parent: string; readonly states: Map<string, LayeredState> }>;

/** Replays a recording apart from the host that made it. */
export type RunRecording = (recording: string) => Promise<ReplayReport>;

/** The innermost interceptor of a host that records or replays. */
export function recordCalls(tapes: Tapes, forks: Forks, runRecording: RunRecording | undefined): Interceptor {
  return (next) => (call) => {
    const tape = tapes.get(call.session.id);
    if (tape === undefined) return next(call);
    switch (call.type) {
      case fork.type:
        return forkSession(tape, next, call);
      case merge.type:
        return mergeFork(tape, forks, next, call);
      case replay.type:
        return replaySession(tape, runRecording);
      default:
        return tape.outside.has(call.capability) ? tape.effect("outside", () => next(call)) : next(call);
    }
  };
}

/** Whether there was room for a fork depended on other sessions: a replay refuses it as the host did. */
async function forkSession(tape: Tape, next: CallFn, call: InterceptedCall): Promise<JsonObject> {
  try {
    return await next(call);
  } catch (error) {
    tape.failed("session", error);
    throw error;
  }
}

/** The calls of a fork are not part of its parent's recording, so its changes are. */
function mergeFork(tape: Tape, forks: Forks, next: CallFn, call: InterceptedCall): ReturnType<CallFn> {
  const found = forks.get(String(call.request.session_id));
  if (found?.parent === call.session.id) {
    const states = new PluginStates(undefined, found.states);
    applyChanges(
      states,
      tape.value("fork", () => changesOf(states)),
    );
  }
  return next(call);
}

/** Replays the recording of a session in a separate host: the session itself and other sessions are not affected. */
async function replaySession(tape: Tape, runRecording: RunRecording | undefined): Promise<JsonObject> {
  const report = tape.effect("replay", async (): Promise<ResultInputOf<typeof replay>> => {
    const recording = await tape.read();
    if (recording === undefined || runRecording === undefined) {
      const message = "the recording of this session cannot be replayed here";
      throw new A2EError("runtime_error", message, { retryable: false });
    }
    return runRecording(recording);
  });
  return (await report) as unknown as JsonObject;
}
