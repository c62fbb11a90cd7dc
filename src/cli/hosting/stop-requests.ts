// The first request to stop is polite, the next ones are less and less.
import { exitCodes } from "../exit-codes.ts";
import type { Terminal } from "../terminal.ts";

/** One Ctrl-C may arrive twice, from the terminal and from the npm in between; nobody presses it again this quickly. */
const sameRequestMs = 300;

/**
 * Calls `stop` once, then `hurry`, which ends sooner what `stop` has begun and returns false where it cannot. After that, a
 * signal ends the process at once. Returns what ends the listening.
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
