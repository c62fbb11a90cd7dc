// Tools and plugins are third-party code: an unhandled rejection of theirs must not end the host with all its sessions.
// An uncaught exception does end it, because it may leave state half changed.
import type { Logger } from "../../plugin/logger.ts";

/**
 * Logs unhandled rejections, and an uncaught exception before Node ends the process. Returns a function that undoes
 * it.
 */
export function surviveRejections(log: Logger): () => void {
  const onRejection = (error: unknown) =>
    log.error("a promise was rejected and not handled; check the tools and plugins", { error });
  const onLastWords = (error: unknown) => log.error("the host ends: uncaught exception", { error });
  process.on("unhandledRejection", onRejection).on("uncaughtExceptionMonitor", onLastWords);
  return () => {
    process.off("unhandledRejection", onRejection).off("uncaughtExceptionMonitor", onLastWords);
  };
}
