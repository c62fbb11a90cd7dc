// Tools and plugins are other people's code: a promise of theirs that fails while nobody waits for it must not end the
// host, with everybody's sessions. What is thrown where nobody catches it does: nobody knows what was left half done.
import type { Logger } from "../../host/logger.ts";

/** Logs what Node would end the process for, and the last words before it does. Returns what takes it back. */
export function surviveRejections(log: Logger): () => void {
  const onRejection = (error: unknown) =>
    log.error("a promise was rejected and nobody waited for it; look at the tools and plugins", { error });
  const onLastWords = (error: unknown) => log.error("the host ends: nobody caught this", { error });
  process.on("unhandledRejection", onRejection).on("uncaughtExceptionMonitor", onLastWords);
  return () => {
    process.off("unhandledRejection", onRejection).off("uncaughtExceptionMonitor", onLastWords);
  };
}
