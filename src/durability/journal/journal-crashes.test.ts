// Whatever sessions append, change, fork and forget, however long commits take, whichever of them fail, and whenever the
// host is killed: no line that was sent is lost, no number stands for two lines, and what comes back is one moment of the
// session that was committed.
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Journal, SessionJournal, SessionOrigin } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";
import { LayeredState } from "../../machinery/state/layered-state.ts";
import { createLatePlace, type JournalPlace, journalPlaces } from "./journal-places.suite.ts";

const record: SessionRecord = {
  principal: { id: "token", agentId: "ada", isAuthenticated: true },
  granted: ["counter"],
  dialect: "full",
  createdAt: 1,
  lastActiveAt: 2,
};

/** A session at the end of a turn. */
interface Moment {
  readonly lastSeq: number;
  readonly state: object;
}

/** What is known of a session, over all its lives. */
interface Known {
  /** Lines that its agent has seen. */
  readonly seen: string[];
  /** Of this life, oldest first. */
  moments: Moment[];
  /** Up to which of them it is known to be durable, and from which on it is known to be lost. */
  durable: number;
  lost: number;
  isForgotten: boolean;
}

interface Live {
  readonly life: number;
  readonly entry: SessionJournal;
  readonly state: LayeredState;
  lastSeq: number;
  isDirty: boolean;
}

class Sessions {
  readonly live = new Map<string, Live>();
  readonly known = new Map<string, Known>();
  readonly #place: JournalPlace;
  #journal!: Journal;
  #lives = 0;

  constructor(place: JournalPlace) {
    this.#place = place;
  }

  async start(): Promise<void> {
    this.#journal = (await this.#place.open()).journal;
  }

  open(id: string, origin?: SessionOrigin): void {
    this.#lives += 1;
    const life = this.#lives;
    const known = this.known.get(id) ?? { seen: [], moments: [], durable: -1, lost: 1e9, isForgotten: false };
    this.known.set(id, known);
    const isAlive = () => this.live.get(id)?.life === life;
    const entry = this.#journal.open(
      {
        id,
        readRecord: () => record,
        released: (lines) => {
          if (isAlive()) known.seen.push(...lines);
        },
        lost: () => {
          if (isAlive()) this.live.delete(id);
        },
      },
      origin,
    );
    const state = origin?.states.get("counter") ?? new LayeredState();
    entry.track("counter", state);
    entry.touch();
    this.live.set(id, { life, entry, state, lastSeq: origin?.lastSeq ?? 0, isDirty: true });
  }

  append(live: Live, id: string, count: number): void {
    for (let left = count; left > 0; left--) {
      live.lastSeq += 1;
      live.entry.lines.append(`${id}, life ${live.life}, line ${live.lastSeq}`);
    }
    live.isDirty = true;
  }

  change(live: Live, key: string, value: number | null): void {
    if (value === null) live.state.delete(key);
    else live.state.set(key, value);
    live.isDirty = true;
  }

  fork(live: Live): void {
    const states = new Map([["counter", live.state.fork()]]);
    this.open(`fork ${this.known.size}`, {
      record,
      states,
      lines: [],
      lastSeq: 0,
      acknowledged: 0,
      forkOf: live.entry,
    });
  }

  forget(id: string, live: Live): void {
    (this.known.get(id) as Known).isForgotten = true;
    this.live.delete(id);
    live.entry.forget();
  }

  async pass(turns: number): Promise<void> {
    for (const [id, live] of this.live) if (live.isDirty) this.#note(this.known.get(id) as Known, live);
    for (let left = turns; left > 0; left--) await nextTurn();
  }

  #note(known: Known, live: Live): void {
    live.isDirty = false;
    const { moments } = known;
    const index = moments.length;
    moments.push({ lastSeq: live.lastSeq, state: Object.fromEntries(live.state.entries()) });
    live.entry.lines.committed((error) => {
      if (known.moments !== moments) return;
      if (error === undefined) known.durable = Math.max(known.durable, index);
      else known.lost = Math.min(known.lost, index);
    });
  }

  async crash(): Promise<void> {
    await this.#place.crash();
    this.live.clear();
    await this.start();
    for (const id of this.known.keys()) await this.recover(id, true);
  }

  /** Brings back a session that was lost, or of an earlier host. */
  async recover(id: string, isCrashed = false): Promise<void> {
    if (this.live.has(id)) return;
    const known = this.known.get(id) as Known;
    const stored = await this.#journal.load(id);
    if (known.isForgotten && !isCrashed) return expect(stored).toBeUndefined();
    if (stored === undefined) {
      if (!known.isForgotten) expect(known).toMatchObject({ durable: -1, seen: [] });
      return;
    }
    const { seen, durable, lost } = known;
    const { lines, lastSeq, states } = stored;
    const found: Moment = { lastSeq, state: Object.fromEntries(states.get("counter")?.entries() ?? []) };
    const candidates = known.moments.slice(Math.max(0, durable), lost);
    // One that was forgotten as it was forked is there as it was forked, until it is removed.
    if (known.moments.length > 0 && !known.isForgotten) expect(candidates).toContainEqual(found);
    expect(lastSeq).toBeGreaterThanOrEqual(seen.length);
    for (const [index, line] of lines.entries()) {
      const seq = lastSeq - lines.length + index + 1;
      // The agent is sent the lines that it has not received.
      if (seq > seen.length) seen.push(line);
      expect(seen[seq - 1]).toBe(line);
    }
    Object.assign(known, { moments: [found], durable: 0, lost: 1e9, isForgotten: false });
    this.open(id, stored);
  }
}

const key = fc.constantFrom("a", "b", "c");
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("append" as const), which: fc.nat(), count: fc.nat(3) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("change" as const), which: fc.nat(), key, value: fc.option(fc.nat(9)) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("acknowledge" as const), which: fc.nat(), seq: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("fork" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("forget" as const, "open" as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("recover" as const), which: fc.nat() }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("pass" as const), turns: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function run(place: JournalPlace, steps: readonly Step[]): Promise<void> {
  const sessions = new Sessions(place);
  await sessions.start();
  sessions.open("first");
  for (const next of steps) {
    const all = [...sessions.live];
    const [id, live] = ("which" in next ? all[next.which % all.length] : undefined) ?? [];
    if (next.kind === "pass") await sessions.pass(next.turns);
    else if (next.kind === "crash") {
      await sessions.pass(1);
      await sessions.crash();
    } else if (next.kind === "open") sessions.open(`opened ${sessions.known.size}`);
    else if (next.kind === "recover") {
      await sessions.pass(1);
      await sessions.recover([...sessions.known.keys()][next.which % sessions.known.size] as string);
    } else if (id === undefined || live === undefined) continue;
    else if (next.kind === "append") sessions.append(live, id, next.count);
    else if (next.kind === "change") sessions.change(live, next.key, next.value);
    else if (next.kind === "acknowledge") live.entry.lines.acknowledge(next.seq);
    else if (next.kind === "fork") sessions.fork(live);
    else sessions.forget(id, live);
  }
  await sessions.pass(3);
  await sessions.crash();
  await place.crash();
  await place.remove();
}

const title = "what an agent has seen is there after any crash, and the rest is of one committed moment";
const steps = fc.array(step, { minLength: 5, maxLength: 60 });

describe.each(journalPlaces)("%s", (_name, createPlace) => {
  test(title, { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => run(await createPlace(), taken)),
      { numRuns: 30 },
    );
  });
});

test(`in a store whose commits take their time and fail: ${title}`, { timeout: 120_000 }, async () => {
  const chances = fc.array(fc.nat(99), { minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(steps, chances, fc.nat(40), async (taken, drawn, failing) => {
      let index = 0;
      const draw = () => drawn[index++ % drawn.length] as number;
      const place = createLatePlace(new Map(), { latency: () => draw() % 5, fails: () => draw() < failing });
      await run(place, taken);
    }),
    { numRuns: 500 },
  );
});
