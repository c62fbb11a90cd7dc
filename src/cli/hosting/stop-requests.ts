// The first request to stop is polite, the second is not.
import { exitCodes } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";

/** One Ctrl-C may arrive twice, from the terminal and from the npm in between; nobody presses it again this quickly. */
const sameRequestMs = 300;

/** Calls `stop` once; a later signal ends the process at once. Returns what ends the listening. */
export function onStopRequest(terminal: Terminal, stop: () => void): () => void {
  let stoppedAt: number | undefined;
  return terminal.onStop((signal) => {
    const now = performance.now();
    if (stoppedAt === undefined) {
      stoppedAt = now;
      stop();
    } else if (now - stoppedAt > sameRequestMs) {
      process.exit(signal === "SIGTERM" ? 143 : exitCodes.interrupted);
    }
  });
}
