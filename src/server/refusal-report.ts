// Tells the operator in the log which web pages were refused: a browser does not show the reason to the page, and for a
// WebSocket not even to its developer.
import type { Logger } from "../plugin/logger.ts";
import type { GuardedRequest } from "./request-guard.ts";

/** A hostile page can send any number of requests, from any number of origins. */
const maxReports = 20;

/** Logs each origin once. */
export function createRefusalReport(log: Logger): (request: GuardedRequest, refusal: string) => void {
  const reported = new Set<string>();
  return ({ headers: { origin = "" } }, refusal) => {
    if (reported.size >= maxReports || reported.has(origin)) return;
    reported.add(origin);
    log.warn("a request was refused", { origin, reason: refusal });
  };
}
