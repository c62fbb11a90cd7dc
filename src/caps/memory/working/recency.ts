// Keys with their sizes, least recently used first. A fork copies nothing: its changes are in layers above a ground,
// and shared layers are never written to.

type Layer = ReadonlyMap<string, number | undefined>;

/** Changes are merged into the ground when they are more than a sixteenth of it. */
const groundShare = 16;
const minChanges = 64;
/** A layer is merged with the one above unless it is at least twice as large. So there are few layers. */
const minGrowth = 2;

export class Recency {
  #ground: ReadonlyMap<string, number>;
  /** Above the ground, oldest first, each in the order of use; undefined for a key that was deleted. */
  #layers: readonly Layer[] = [];
  /** The changes of this instance, above the layers. Created with the first change, since most forks make none. */
  #changes: Map<string, number | undefined> | undefined;
  #size: number;

  constructor(ground: ReadonlyMap<string, number> = new Map()) {
    this.#ground = ground;
    this.#size = ground.size;
  }

  get size(): number {
    return this.#size;
  }

  get(key: string): number | undefined {
    if (this.#changes?.has(key)) return this.#changes.get(key);
    const layer = this.#layers.findLast((one) => one.has(key)) ?? this.#ground;
    return layer.get(key);
  }

  /** Makes the key the most recently used. */
  set(key: string, bytes: number): void {
    if (this.get(key) === undefined) this.#size += 1;
    this.#change(key, bytes);
  }

  delete(key: string): void {
    if (this.get(key) === undefined) return;
    this.#size -= 1;
    this.#change(key, undefined);
  }

  /** A key may be deleted while it is being visited. */
  *keys(): Generator<string> {
    const all = [this.#ground, ...this.#layers, ...(this.#changes === undefined ? [] : [this.#changes])];
    for (const [depth, layer] of all.entries()) {
      const above = all.slice(depth + 1);
      for (const [key, bytes] of layer) if (bytes !== undefined && !above.some((one) => one.has(key))) yield key;
    }
  }

  fork(): Recency {
    if (this.#changes !== undefined) this.#layers = stack(this.#layers, this.#changes);
    this.#changes = undefined;
    const fork = new Recency(this.#ground);
    fork.#layers = this.#layers;
    fork.#size = this.#size;
    return fork;
  }

  #change(key: string, bytes: number | undefined): void {
    this.#changes ??= new Map();
    this.#changes.delete(key);
    this.#changes.set(key, bytes);
    const count = this.#layers.reduce((sum, { size }) => sum + size, this.#changes.size);
    if (count <= Math.max(minChanges, this.#ground.size / groundShare)) return;
    const ground = new Map<string, number>();
    for (const key of this.keys()) ground.set(key, this.get(key) as number);
    this.#ground = ground;
    this.#layers = [];
    this.#changes = undefined;
  }
}

function stack(layers: readonly Layer[], top: Layer): Layer[] {
  const stacked = [...layers];
  let layer = top;
  for (let below = stacked.at(-1); below !== undefined && below.size < minGrowth * layer.size; below = stacked.at(-1)) {
    stacked.pop();
    const joined = new Map(below);
    for (const [key, bytes] of layer) {
      joined.delete(key);
      joined.set(key, bytes);
    }
    layer = joined;
  }
  return [...stacked, layer];
}
