// How much a transport keeps for a host that is away or does not read.

/** Characters. A message that is longer by itself still goes where nothing else waits. */
export const maxWaitingLength = 64 * 1024 * 1024;

/** Throws where the line would have to wait behind too much. */
export function checkRoom(waitingLength: number, line: string): void {
  if (waitingLength === 0 || waitingLength + line.length <= maxWaitingLength) return;
  throw new Error(`${waitingLength} characters wait for the host already, and it does not take them`);
}
