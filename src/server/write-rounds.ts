// Writes pushes and events to many streams in rounds. Each write to a socket is a system call that takes longer than making
// the line. If a plugin pushes to a thousand sessions again and again, the host would spend most of its time on writes of
// one line. So after a round of many writes there is a pause, at most as long as the round took, and the next round writes
// all lines of the pause at once. The pause ends early with the first turn that adds no line. Answers do not wait.
import type { OutboundSource } from "../framing/outbound-pump.ts";
import type { OutboundLine, Reader } from "../host/outbound/outbound-log.ts";

/** From this many writes on, there is a pause after a round. */
const manyWrites = 32;
/** A round that took less is not worth a pause. */
const minRoundMs = 1;
const maxPauseMs = 20;
/** Writes with a longer gap between them do not belong to the same round. */
const maxGapMs = 5;
/** A stream with this many unread bytes is written at once: a larger write costs as much as two of half its size. */
const largeBytes = 16 * 1024;

/** The part of a session that is paced. */
interface PacedSource extends OutboundSource<OutboundLine> {
  attach(from: number, wake: () => void): Reader;
  readonly unsentBytes: number;
}

interface RoundOptions {
  /** Milliseconds on a monotonic clock. */
  now?(): number;
  /** Calls back in the next turn of the event loop. */
  nextTurn?(callback: () => void): void;
}

export class WriteRounds {
  readonly #now: () => number;
  readonly #nextTurn: (callback: () => void) => void;
  /** Streams with lines that were added during the pause. */
  #waiting = new Set<() => void>();
  #isPausing = false;
  #pauseEndsAt = 0;
  /** Whether lines were added in this turn of the pause. */
  #isAdding = false;
  /** The writes of the current round, the time they took, and when the last of them ended. */
  #writes = 0;
  #roundMs = 0;
  #endedAt = 0;

  constructor({ now = () => performance.now(), nextTurn = setImmediate }: RoundOptions = {}) {
    this.#now = now;
    this.#nextTurn = nextTurn;
  }

  /** The same source, whose readers are woken in rounds. */
  pace(source: PacedSource): OutboundSource<OutboundLine> {
    return {
      attach: (from, wake) => {
        const reader: Reader = source.attach(from, () => {
          if (reader.hasAnswers || source.unsentBytes >= largeBytes) wake();
          else this.#wake(wake);
        });
        return reader;
      },
      onClosed: (listener) => source.onClosed(listener),
    };
  }

  #wake(wake: () => void): void {
    if (this.#isPausing) return this.#wait(wake);
    const startedAt = this.#now();
    if (startedAt - this.#endedAt > maxGapMs) this.#beginRound();
    wake();
    this.#endedAt = this.#now();
    this.#writes += 1;
    this.#roundMs += this.#endedAt - startedAt;
    if (this.#writes >= manyWrites && this.#roundMs >= minRoundMs) this.#pause();
  }

  #wait(wake: () => void): void {
    this.#isAdding = true;
    this.#waiting.add(wake);
  }

  #beginRound(): void {
    this.#writes = 0;
    this.#roundMs = 0;
  }

  #pause(): void {
    this.#isPausing = true;
    this.#isAdding = true;
    this.#pauseEndsAt = this.#endedAt + Math.min(this.#roundMs, maxPauseMs);
    this.#nextTurn(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    if (!this.#isAdding || this.#now() >= this.#pauseEndsAt) return this.#runRound();
    this.#isAdding = false;
    this.#nextTurn(this.#endTurn);
  };

  #runRound(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    const startedAt = this.#now();
    for (const wake of waiting) wake();
    this.#endedAt = this.#now();
    this.#writes = waiting.size;
    this.#roundMs = this.#endedAt - startedAt;
    this.#isPausing = false;
    if (this.#writes >= manyWrites && this.#roundMs >= minRoundMs) this.#pause();
  }
}
