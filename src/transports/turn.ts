// Everything that is said in one turn travels together.

/**
 * In Node the check phase follows the I/O that woke us: all answers of one packet have been worked on by then, and what
 * they led to travels together. Browsers have no such phase.
 */
const afterTurn: (callback: () => void) => unknown = typeof setImmediate === "function" ? setImmediate : queueMicrotask;

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
