import type { Confinement } from "../plugin/ports/sandbox.ts";

/** The confinements of a sandbox that are not released yet, so that closing the sandbox releases them all. */
export class LiveConfinements {
  readonly #live = new Set<Confinement>();
  readonly #making = new Set<Promise<unknown>>();
  #isClosed = false;

  /** Creates a confinement that is removed from the set on release. Rejects if the sandbox was closed meanwhile. */
  async add(make: () => Promise<Confinement>): Promise<Confinement> {
    this.#refuseClosed();
    const making = make().then((confinement) => {
      this.#live.add(confinement);
      return confinement;
    });
    this.#making.add(making);
    const confinement = await making.finally(() => this.#making.delete(making));
    // `close` releases it as well.
    this.#refuseClosed();
    return {
      ...confinement,
      release: async () => {
        this.#live.delete(confinement);
        await confinement.release();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#making);
    await Promise.all([...this.#live].map((confinement) => confinement.release()));
    this.#live.clear();
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new Error("this sandbox is closed");
  }
}
