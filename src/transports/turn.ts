// Everything that is said in one turn travels together.

/**
 * In Node the check phase follows the I/O that woke us: all answers of one packet have been worked on by then, and what
 * they led to travels together. Browsers have no such phase.
 */
const afterTurn: (callback: () => void) => unknown = typeof setImmediate === "function" ? setImmediate : queueMicrotask;

/**
 * After everything that can run without waiting. For what is handed to somebody who waits for the end of the turn by
 * himself, as undici does before it uses a connection again.
 */
export const afterMicrotasks: (callback: () => void) => unknown =
  typeof process === "object" && typeof process.nextTick === "function" ? process.nextTick : queueMicrotask;

/** Returns a function that runs `work` once this turn is over, however often it is called before. */
export function oncePerTurn(work: () => void, schedule = afterTurn): () => void {
  let isWaiting = false;
  const run = () => {
    isWaiting = false;
    work();
  };
  return () => {
    if (isWaiting) return;
    isWaiting = true;
    schedule(run);
  };
}
