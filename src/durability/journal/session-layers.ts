// Which layers the state of each session lies in. The only place where layers are numbered, shared and given up. Layers form
// a tree: each lies above at most one other, forks share what is below their own, and a session needs the path from its
// topmost layer down. So a layer is needed as long as another one lies above it, or a session has it at the top.
import type { SessionTables } from "./session-tables.ts";
import { noLayer, type Placement } from "./written-turn.ts";

export class SessionLayers {
  readonly #tables: Pick<SessionTables, "layersAbove" | "maxLayer">;
  /** Of sessions that this process has written or read. */
  readonly #placements = new Map<string, Placement>();
  /** Layers that tables may not have yet, by the layer below them. */
  readonly #above = new Map<number, Set<number>>();
  /** Layers that tables may still have though they are given up. */
  readonly #dropped = new Set<number>();
  /** What this turn has done, in case that it is lost. */
  #undo: (() => void)[] = [];
  #lastLayer: number;

  constructor(tables: Pick<SessionTables, "layersAbove" | "maxLayer">) {
    this.#tables = tables;
    this.#lastLayer = tables.maxLayer;
  }

  of(session: string): Placement | undefined {
    return this.#placements.get(session);
  }

  /** Notes where the state of a session lies, as it was read. */
  set(session: string, placement: Placement): Placement {
    this.#placements.set(session, placement);
    return placement;
  }

  /** Notes layers that are in the log and may not be in tables: those of a session, and those that were given up. */
  recover({ layers }: Placement): void {
    for (const [depth, layer] of layers.entries()) this.#add(layer, layers[depth - 1] ?? noLayer);
  }

  recoverDropped(layers: Iterable<number>): void {
    for (const layer of layers) {
      this.#dropped.add(layer);
      // Its number is not given again: the log still has it.
      this.#lastLayer = Math.max(this.#lastLayer, layer);
    }
  }

  /** A session with a layer of its own, above those that `parent` has below its own. */
  create(session: string, parent: Placement | undefined): Placement {
    const ground = parent?.layers.slice(0, -1);
    const layers = [...(ground ?? []), this.#createAbove(ground?.at(-1))];
    return this.set(session, ground === undefined ? { layers } : { layers, ground: ground.length });
  }

  /** Gives a session a new layer above the ones it has. */
  split(session: string, placement: Placement): Placement {
    return this.set(session, {
      ...placement,
      layers: [...placement.layers, this.#createAbove(placement.layers.at(-1))],
    });
  }

  /** Gives up the layers that only this session needs, and returns them. */
  release(session: string, { layers }: Placement): number[] {
    this.#placements.delete(session);
    const released: number[] = [];
    for (let depth = layers.length - 1; depth >= 0; depth--) {
      const layer = layers[depth] as number;
      if (this.#isNeeded(layer)) break;
      this.#dropped.add(layer);
      this.#undo.push(() => this.#dropped.delete(layer));
      released.push(layer);
    }
    return released;
  }

  /** Of layers that are not at the top of a session. */
  #isNeeded(layer: number): boolean {
    const isThere = (above: number) => !this.#dropped.has(above);
    return [...(this.#above.get(layer) ?? [])].some(isThere) || this.#tables.layersAbove(layer).some(isThere);
  }

  #createAbove(below = noLayer): number {
    this.#lastLayer += 1;
    const layer = this.#lastLayer;
    this.#add(layer, below);
    this.#undo.push(() => this.#above.get(below)?.delete(layer));
    return layer;
  }

  #add(layer: number, below: number): void {
    const above = this.#above.get(below) ?? new Set();
    this.#above.set(below, above.add(layer));
    this.#lastLayer = Math.max(this.#lastLayer, layer);
  }

  /** The turn is in the log; or in tables with all before it; or lost, with what `sessions` wrote in it. */
  turnEnded(how: "logged" | "folded" | "lost", sessions: Iterable<string> = []): void {
    const undo = this.#undo;
    this.#undo = [];
    if (how === "lost") {
      for (const step of undo) step();
      for (const session of sessions) this.#placements.delete(session);
    } else if (how === "folded") {
      this.#above.clear();
      this.#dropped.clear();
    }
  }
}
