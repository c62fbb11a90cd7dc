// Which layers the state of each session lies in, and who else needs them. The only place where layers are numbered,
// shared and given up.
import type { SessionTables } from "./session-tables.ts";
import type { Placement } from "./written-turn.ts";

export class SessionLayers {
  readonly #tables: Pick<SessionTables, "sessionsOn">;
  /** Of sessions that this process has written or read. For all others the tables are right. */
  readonly #placements = new Map<string, Placement>();
  /** How many of these sessions need a layer. */
  readonly #uses = new Map<number, number>();
  #lastLayer: number;

  /** No layer that is in use has a number above `lastLayer`. */
  constructor(tables: Pick<SessionTables, "sessionsOn">, lastLayer: number) {
    this.#tables = tables;
    this.#lastLayer = lastLayer;
  }

  of(session: string): Placement | undefined {
    return this.#placements.get(session);
  }

  /** Notes what was read of a session. */
  set(session: string, placement: Placement): Placement {
    for (const layer of placement.layers) {
      this.#uses.set(layer, (this.#uses.get(layer) ?? 0) + 1);
      this.#lastLayer = Math.max(this.#lastLayer, layer);
    }
    this.unset(session);
    this.#placements.set(session, placement);
    return placement;
  }

  /** A session with a layer of its own, above those that `parent` has below its own. */
  create(session: string, parent: Placement | undefined): Placement {
    const ground = parent?.layers.slice(0, -1);
    const layers = [...(ground ?? []), this.#next()];
    return this.set(session, ground === undefined ? { layers } : { layers, ground: ground.length });
  }

  /** Gives a session a new layer above the ones it has. */
  split(session: string, placement: Placement): Placement {
    return this.set(session, { ...placement, layers: [...placement.layers, this.#next()] });
  }

  /** Returns the layers of a session that no other session needs. The session needs them no longer. */
  release(session: string, { layers }: Placement, isForgotten: (session: string) => boolean): number[] {
    this.unset(session);
    const isNeeded = (layer: number) =>
      this.#uses.has(layer) ||
      this.#tables
        .sessionsOn(layer)
        .some((other) => other !== session && !this.#placements.has(other) && !isForgotten(other));
    return layers.filter((layer) => !isNeeded(layer));
  }

  /** The tables are right again about this session: what this process wrote of it last is lost. */
  unset(session: string): void {
    for (const layer of this.#placements.get(session)?.layers ?? []) {
      const uses = (this.#uses.get(layer) ?? 1) - 1;
      if (uses > 0) this.#uses.set(layer, uses);
      else this.#uses.delete(layer);
    }
    this.#placements.delete(session);
  }

  #next(): number {
    this.#lastLayer += 1;
    return this.#lastLayer;
  }
}
