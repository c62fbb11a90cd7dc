// How much a transport keeps for a host that is away or does not read.

/** Characters. A message that is longer than this is still accepted if no other message waits. */
export const maxWaitingLength = 64 * 1024 * 1024;

/** Throws if more than `maxWaitingLength` would wait. */
export function checkRoom(waitingLength: number, line: string): void {
  if (waitingLength === 0 || waitingLength + line.length <= maxWaitingLength) return;
  throw new Error(`${waitingLength} characters wait for the host already, and it does not take them`);
}
