// After a process has ended, what it wrote is read to its end; but those that hold its output open do not do so for ever.

export interface DrainPort {
  /** Nobody reads at the moment, on purpose. */
  isHeld(): boolean;
  /** Read so far. */
  bytesRead(): number;
  /** Those that hold the output open are to go. */
  endOthers(): void;
  /** Nothing more is waited for. */
  giveUp(): void;
}

/** Counted in turns of the event loop and not only in time: a host that was busy elsewhere has read nothing meanwhile. */
const ticksPerDrain = 10;
/** For output that is held open, and written to, by what nobody can end. */
const maxDrains = 10;

/** Returns what stops it, for when the output has come to its end. */
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
