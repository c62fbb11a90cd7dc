// After a process has ended, its output is read to the end, but with a limit if other processes hold it open.

export interface DrainPort {
  /** Reading is paused on purpose. */
  isHeld(): boolean;
  /** Bytes read so far. */
  bytesRead(): number;
  /** Kills the processes that hold the output open. */
  endOthers(): void;
  /** Stops waiting for further output. */
  giveUp(): void;
}

/** Counted in ticks of the event loop as well as in time: a busy host has read nothing meanwhile. */
const ticksPerDrain = 10;
/** For output that is held open by a process that cannot be killed. */
const maxDrains = 10;

/** Returns a function that stops the drain, for when the output has ended. */
export function startDrain(port: DrainPort, drainMs: number): () => void {
  let [ticks, quietTicks, bytesRead] = [0, 0, port.bytesRead()];
  const timer = setInterval(() => {
    if (port.isHeld()) return;
    ticks += 1;
    quietTicks = port.bytesRead() === bytesRead ? quietTicks + 1 : 0;
    bytesRead = port.bytesRead();
    if (ticks === ticksPerDrain) {
      port.endOthers();
      quietTicks = 0;
    } else if (ticks > ticksPerDrain && (quietTicks >= ticksPerDrain || ticks >= ticksPerDrain * maxDrains)) {
      clearInterval(timer);
      port.giveUp();
    }
  }, drainMs / ticksPerDrain);
  return () => clearInterval(timer);
}
