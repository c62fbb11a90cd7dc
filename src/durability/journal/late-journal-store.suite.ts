// A journal store that is somewhere else: commits and reads take a while, commits of different sessions overtake each
// other, and any of them may fail. What is committed survives `crash`, everything else is gone.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { type CommitUnit, forgetSession, type JournalStore, type SessionTurn } from "./journal-store.ts";

/** Values by plugin and key; undefined for a key that is deleted though a layer below has it. */
type Layer = Map<string, Map<string, JsonValue | undefined>>;

interface KeptSession {
  readonly record: SessionRecord;
  readonly lines: readonly string[];
  readonly lastSeq: number;
  readonly acknowledged: number;
  readonly layers: readonly Layer[];
  readonly ground: number;
}

/** The sessions that are committed, in the memory of a server that outlives hosts. */
export type KeptSessions = Map<string, KeptSession>;

export interface LateStoreOptions {
  /** How many turns of the event loop the next commit or read takes. */
  latency?(): number;
  /** Whether the next commit fails. */
  fails?(): boolean;
}

type Outcome = Error | undefined;

export class LateJournalStore implements JournalStore {
  readonly #kept: KeptSessions;
  readonly #latency: () => number;
  readonly #fails: () => boolean;
  #units: CommitUnit[] = [];
  /** The last unit in flight of each session. */
  readonly #last = new Map<string, Promise<Outcome>>();
  readonly #leaving = new Set<string>();
  readonly #inFlight = new Set<Promise<unknown>>();
  #isCrashed = false;

  constructor(kept: KeptSessions, { latency = () => 2, fails = () => false }: LateStoreOptions = {}) {
    this.#kept = kept;
    this.#latency = latency;
    this.#fails = fails;
  }

  /** The host is killed: nothing that is not committed will be, and the host is told nothing more. */
  crash(): void {
    this.#isCrashed = true;
  }

  commit(unit: CommitUnit): void {
    if (unit.forgets !== undefined) this.#leaving.add(unit.forgets);
    this.#units.push(unit);
    if (this.#units.length === 1) setImmediate(() => this.#takeUnits());
  }

  #takeUnits(): void {
    if (this.#isCrashed) return;
    for (const unit of this.#units.splice(0)) {
      const turns = unit.take();
      if (turns.length === 0) continue;
      const sessions = new Set(turns.map(({ session }) => session));
      const earlier = [...sessions].map((session) => this.#last.get(session));
      const outcome = this.#write(unit, turns, sessions, Promise.all(earlier));
      for (const session of sessions) this.#last.set(session, outcome);
      this.#inFlight.add(outcome);
      void outcome.finally(() => this.#inFlight.delete(outcome));
    }
    if (this.#units.length > 0) setImmediate(() => this.#takeUnits());
  }

  async #write(
    unit: CommitUnit,
    turns: readonly SessionTurn[],
    sessions: ReadonlySet<string>,
    earlier: Promise<Outcome[]>,
  ): Promise<Outcome> {
    const before = (await earlier).find((error) => error !== undefined);
    await this.#travel();
    if (this.#isCrashed) return new Promise(() => {});
    const error = before ?? (this.#fails() ? new Error("the connection was reset") : undefined);
    if (error === undefined) {
      unit.writing();
      for (const turn of turns) this.#apply(turn);
    }
    // Half of the way back: a crash here leaves what is committed and was not told.
    await this.#travel();
    if (this.#isCrashed) return new Promise(() => {});
    if (unit.forgets !== undefined && error === undefined) this.#leaving.delete(unit.forgets);
    unit.ended(error);
    // A session that was told of a loss begins anew; what was taken before that fails as well.
    for (const session of sessions) if (error !== undefined) this.#forgetLossSoon(session);
    return error;
  }

  #forgetLossSoon(session: string): void {
    const last = this.#last.get(session);
    void last?.then(() => {
      if (this.#last.get(session) === last) this.#last.delete(session);
    });
  }

  async #travel(): Promise<void> {
    for (let left = this.#latency(); left > 0; left--) await nextTurn();
  }

  #apply(turn: SessionTurn): void {
    const { session, lines, lastSeq, acknowledged, changes, forkOf, isForgotten, isSplit } = turn;
    if (isForgotten === true) return void this.#kept.delete(session);
    const ground = forkOf === undefined ? [] : (this.#kept.get(forkOf)?.layers.slice(0, -1) ?? []);
    const known = this.#kept.get(session);
    const layers = known?.layers ?? [...ground, new Map()];
    for (const [plugin, key, json] of changes) setIn(layers.at(-1) as Layer, plugin, key, json);
    this.#kept.set(session, {
      record: turn.record ?? (known as KeptSession).record,
      lines: [...(known?.lines ?? []), ...lines],
      lastSeq,
      acknowledged,
      layers: isSplit === true ? [...layers, new Map()] : layers,
      ground: known?.ground ?? ground.length,
    });
  }

  async load(sessionId: string): Promise<SessionOrigin | undefined> {
    await this.#travel();
    await this.#last.get(sessionId);
    const kept = this.#leaving.has(sessionId) ? undefined : this.#kept.get(sessionId);
    if (kept === undefined) return undefined;
    const { record, lines, lastSeq, acknowledged, layers, ground } = kept;
    const plugins = new Set(layers.flatMap((layer) => [...layer.keys()]));
    const states = Array.from(plugins, (plugin) => {
      const ofPlugin = layers.map((layer) => layer.get(plugin) ?? new Map<string, JsonValue | undefined>());
      return [plugin, LayeredState.fromLayers(ofPlugin, ground)] as const;
    });
    return { record, states: new Map(states), lines, lastSeq, acknowledged };
  }

  async forgetOlderThan(createdBefore: number, live: { has(sessionId: string): boolean }): Promise<string[]> {
    await this.#travel();
    const ids = [...this.#kept].filter(([id, { record }]) => record.createdAt < createdBefore && !live.has(id));
    for (const [id] of ids) this.commit(forgetSession(id));
    return ids.map(([id]) => id);
  }

  async close(): Promise<void> {
    await nextTurn();
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
  }
}

function setIn(layer: Layer, plugin: string, key: string, json: string | undefined): void {
  const values = layer.get(plugin) ?? new Map<string, JsonValue | undefined>();
  layer.set(plugin, values);
  values.set(key, json === undefined ? undefined : (JSON.parse(json) as JsonValue));
}

/** What the server has now, for another host: as a crash of the first would leave it. */
export function copyKept(kept: KeptSessions): KeptSessions {
  // Forks share layers, and still do in the copy.
  return structuredClone(kept);
}
