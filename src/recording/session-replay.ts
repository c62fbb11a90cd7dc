import type { Kernel } from "../host/kernel.ts";
import type { ResultInputOf } from "../protocol/capability.ts";
import type { replay } from "../protocol/core.ts";
import { A2EError } from "../protocol/errors.ts";
import type { Tape } from "./tape.ts";

/** Runs the recording of a session once more, elsewhere: nothing of it reaches the session or what others see. */
export async function replaySession(
  tape: Tape | undefined,
  runRecording: Kernel["replay"],
): Promise<ResultInputOf<typeof replay>> {
  if (tape === undefined) throw refusal("this session is not recorded: the host's config has no recording.enabled");
  return tape.effect("replay", async () => {
    const recording = await tape.read();
    if (recording === undefined || runRecording === undefined)
      throw refusal("the recording of this session cannot be replayed here");
    return runRecording(recording);
  });
}

function refusal(message: string): A2EError {
  return new A2EError("runtime_error", message, { retryable: false });
}
