// Whether a disk is waited for in place. As long as it is quick it is: where a sync takes a tenth of a millisecond,
// handing it to another thread and being woken by that takes several times as long. A slow disk, or one that is busy,
// would keep the host's only thread from everything else.

/** A disk that is quicker than this is waited for. */
const quickMs = 1;
/** For how many times a slow one is left to others, at most, before it is waited for again. */
const maxAway = 1024;

export class DiskPace {
  readonly #now: () => number;
  #away = 1;
  #penalty = 1;

  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Whether it is to be waited for. */
  get isQuick(): boolean {
    return this.#away === 0;
  }

  /** Something goes there that nobody waits for in place. */
  passBy(): void {
    if (this.#away > 0) this.#away -= 1;
  }

  /** Does something that waits for the disk. */
  wait(work: () => void): void {
    const startedAt = this.#now();
    try {
      work();
    } finally {
      const isQuick = this.#now() - startedAt < quickMs;
      this.#away = isQuick ? 0 : this.#penalty;
      this.#penalty = isQuick ? 1 : Math.min(this.#penalty * 2, maxAway);
    }
  }
}
