// Combines all lines that are sent in the same turn of the event loop.

/**
 * In Node the check phase follows the I/O phase: by then all answers in a packet have been handled, and the lines sent
 * in reaction travel together. Browsers do not have such a phase.
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
