// Assigns state layers to sessions: numbers, shares and releases them. Layers form a tree: each layer has at most one layer
// below it, and a session uses the path from its top layer to the root. Forks share the layers below their own. So a layer
// is needed as long as another layer is above it, or it is the top layer of a session.
import type { SessionTables } from "./session-tables.ts";
import { noLayer, type Placement } from "./written-turn.ts";

export class SessionLayers {
  readonly #tables: Pick<SessionTables, "layersAbove" | "maxLayer">;
  /** Placements of the sessions that this process has written or read. */
  readonly #placements = new Map<string, Placement>();
  /** Layers that may not be in tables yet, by the layer below them. */
  readonly #above = new Map<number, Set<number>>();
  /** Released layers that may still be in tables. */
  readonly #dropped = new Set<number>();
  /** Steps that undo this turn if it is lost. */
  #undo: (() => void)[] = [];
  #lastLayer: number;

  constructor(tables: Pick<SessionTables, "layersAbove" | "maxLayer">) {
    this.#tables = tables;
    this.#lastLayer = tables.maxLayer;
  }

  of(session: string): Placement | undefined {
    return this.#placements.get(session);
  }

  /** Remembers the layers of a session. */
  set(session: string, placement: Placement): Placement {
    this.#placements.set(session, placement);
    return placement;
  }

  /** Adds the layers of a session whose record is in the log and may not be in tables. */
  recover({ layers }: Placement): void {
    for (const [depth, layer] of layers.entries()) this.#add(layer, layers[depth - 1] ?? noLayer);
  }

  recoverDropped(layers: Iterable<number>): void {
    for (const layer of layers) {
      this.#dropped.add(layer);
      // The number must not be reused: the log still contains it.
      this.#lastLayer = Math.max(this.#lastLayer, layer);
    }
  }

  /** Places a new session in a new layer; for a fork, above the layers that are below the top layer of `parent`. */
  create(session: string, parent: Placement | undefined): Placement {
    const ground = parent?.layers.slice(0, -1);
    const layers = [...(ground ?? []), this.#createAbove(ground?.at(-1))];
    return this.set(session, ground === undefined ? { layers } : { layers, ground: ground.length });
  }

  /** Adds a new top layer to a session. */
  split(session: string, placement: Placement): Placement {
    return this.set(session, {
      ...placement,
      layers: [...placement.layers, this.#createAbove(placement.layers.at(-1))],
    });
  }

  /** Releases the layers that only this session needs, and returns them. */
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

  /** Whether another layer is above this layer. */
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

  /** See `TurnLogOwner.ended`. `sessions` are those that wrote in a lost turn. */
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
