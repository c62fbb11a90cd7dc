import type { StoredUse, UsageStore } from "./usage-store.ts";

/** A store whose turns a test commits or loses. */
export class FakeStore implements UsageStore {
  readonly durable = new Map<string, StoredUse>();
  #preparing: ((error?: Error) => void)[] = [];

  read(key: string): StoredUse | undefined {
    return this.durable.get(key);
  }

  beforeCommit(callback: (error?: Error) => void): void {
    this.#preparing.push(callback);
  }

  #staged: { uses: (StoredUse & { key: string })[]; settled: (error?: Error) => void }[] = [];

  write(uses: Iterable<StoredUse & { readonly key: string }>, settled: (error?: Error) => void): void {
    this.#staged.push({ uses: [...uses].map(({ key, used, day }) => ({ key, used, day })), settled });
  }

  commit(): void {
    for (const callback of this.#preparing.splice(0)) callback();
    for (const { uses, settled } of this.#staged.splice(0)) {
      for (const { key, used, day } of uses) this.durable.set(key, { used, day });
      settled();
    }
  }

  /** The turn is written and then lost, as on a full disk. */
  lose(): void {
    for (const callback of this.#preparing.splice(0)) callback();
    for (const { settled } of this.#staged.splice(0)) settled(new Error("the disk is full"));
  }

  /** The process is killed: a new one sees only what is durable. */
  killed(): FakeStore {
    const next = new FakeStore();
    for (const [key, use] of this.durable) next.durable.set(key, use);
    return next;
  }
}
