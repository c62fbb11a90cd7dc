import type { Confinement } from "../host/sandbox.ts";

/** Those of a sandbox that are not yet released, so that closing it releases them all. */
export class LiveConfinements {
  readonly #live = new Set<Confinement>();
  #isClosed = false;

  /** Makes one that is forgotten when it is released. */
  async add(make: () => Promise<Confinement>): Promise<Confinement> {
    if (this.#isClosed) throw new Error("this sandbox is closed");
    const confinement = await make();
    this.#live.add(confinement);
    if (this.#isClosed) await this.close();
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
    await Promise.all([...this.#live].map((confinement) => confinement.release()));
    this.#live.clear();
  }
}
