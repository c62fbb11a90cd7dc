// The first request to stop lets calls finish; each further request ends the host sooner.
import { exitCodes } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";

/**
 * A single Ctrl-C may arrive twice, from the terminal and from the npm process in between; a user does not press it
 * again this quickly.
 */
const sameRequestMs = 300;

/**
 * Calls `stop` once, then `hurry`, which shortens the wait of `stop` and returns false if it cannot. After that, a
 * signal ends the process at once. Returns a function that stops listening.
 */
export function onStopRequest(terminal: Terminal, stop: () => void, hurry: () => boolean = () => false): () => void {
  let askedAt: number | undefined;
  let isHurried = false;
  return terminal.onStop((signal) => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      return stop();
    }
    if (now - askedAt <= sameRequestMs) return;
    askedAt = now;
    terminal.exitCode = signal === "SIGTERM" ? 143 : exitCodes.interrupted;
    if (isHurried || !hurry()) process.exit(terminal.exitCode);
    isHurried = true;
  });
}
