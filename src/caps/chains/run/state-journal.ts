// The records of a run in the state of its session. They are written when the turn is committed, so that a run which
// ends in the turn it began in, as most do, writes nothing.
import type { Database } from "../../../plugin/ports/database.ts";
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Recorded, RunJournal } from "./run-port.ts";

/** Local, so never merged from a fork: its runs stay there. */
const runPrefix = `${localPrefix}run:`;
const stepPrefix = `${localPrefix}step:`;
const answerPrefix = `${localPrefix}answer:`;

/** A run that another process has started. */
export interface UnfinishedRun {
  readonly runId: string;
  /** The request of the run. */
  readonly header: JsonObject;
  readonly steps: ReadonlyMap<string, Recorded>;
}

export class StateJournal implements RunJournal {
  readonly #state: SessionState;
  readonly #database: Database;
  readonly #runId: string;
  readonly #readHeader: () => JsonObject;
  readonly #known: ReadonlyMap<string, Recorded> | undefined;
  /** Keys and values alternating, not yet written. */
  #fresh: (string | Recorded)[] = [];
  readonly #written: string[] = [];
  #isOpen = false;
  #isScheduled = false;
  #isCleared = false;
  #header: JsonObject | undefined;

  constructor(
    state: SessionState,
    database: Database,
    runId: string,
    readHeader: () => JsonObject,
    unfinished?: UnfinishedRun,
  ) {
    this.#state = state;
    this.#database = database;
    this.#runId = runId;
    this.#readHeader = readHeader;
    this.#known = unfinished?.steps;
    if (unfinished === undefined) return;
    this.#header = unfinished.header;
    this.#written.push(runPrefix + runId, ...Array.from(unfinished.steps.keys(), (key) => this.#stepKey(key)));
  }

  get isResumed(): boolean {
    return this.#known !== undefined;
  }

  recall(key: string): Recorded | undefined {
    return this.#known?.get(key);
  }

  open(): void {
    this.#isOpen = true;
    this.#schedule();
  }

  note(key: string, recorded: Recorded): void {
    this.#fresh.push(key, recorded);
    if (this.#isOpen && !this.#isScheduled) this.#schedule();
  }

  clear(): void {
    if (this.#isCleared) return;
    this.#isCleared = true;
    for (const key of this.#written) this.#state.delete(key);
  }

  /** True if the state was restored to a snapshot, and no longer contains the records of this run. */
  get isReplaced(): boolean {
    return this.#header !== undefined && this.#state.get(runPrefix + this.#runId) !== this.#header;
  }

  #schedule(): void {
    this.#isScheduled = true;
    // Nothing is recorded for a turn that is lost: the changes of the nodes are lost with it.
    const write = (lost?: Error) => {
      if (lost === undefined) this.#write();
    };
    // In the same commit as the nodes' own changes: a tool's effect and its record are stored together.
    if (this.#database.isPersistent) this.#database.beforeCommit(write);
    else setImmediate(() => write());
  }

  #write(): void {
    this.#isScheduled = false;
    if (this.#isCleared) return;
    if (this.#header === undefined) {
      this.#header = this.#readHeader();
      this.#set(runPrefix + this.#runId, this.#header);
    }
    const fresh = this.#fresh;
    this.#fresh = [];
    for (let index = 0; index < fresh.length; index += 2)
      this.#set(this.#stepKey(fresh[index] as string), fresh[index + 1] as unknown as JsonValue);
  }

  #set(key: string, value: JsonValue): void {
    this.#written.push(key);
    this.#state.set(key, value);
  }

  #stepKey(key: string): string {
    return `${stepPrefix}${key}:${this.#runId}`;
  }
}

/** Runs that were in progress when the state was last written. */
export function findUnfinished(state: SessionState): UnfinishedRun[] {
  const runs = new Map<string, { runId: string; header: JsonObject; steps: Map<string, Recorded> }>();
  const entries = [...state.entries()];
  for (const [key, value] of entries) {
    if (!key.startsWith(runPrefix)) continue;
    const runId = key.slice(runPrefix.length);
    runs.set(runId, { runId, header: value as JsonObject, steps: new Map() });
  }
  for (const [key, value] of runs.size === 0 ? [] : entries) {
    if (!key.startsWith(stepPrefix)) continue;
    // The key of a step contains no colon, but the id of a run may.
    const end = key.indexOf(":", stepPrefix.length);
    runs.get(key.slice(end + 1))?.steps.set(key.slice(stepPrefix.length, end), value as unknown as Recorded);
  }
  return [...runs.values()];
}

/** Keeps the answer of a resumed run until its agent repeats the request. */
export function keepAnswer(state: SessionState, runId: string, answer: JsonObject, maxKept: number): void {
  const kept = [...keptAnswers(state)];
  for (const [id] of kept.slice(0, Math.max(0, kept.length + 1 - maxKept))) state.delete(answerPrefix + id);
  state.set(answerPrefix + runId, answer);
}

export function* keptAnswers(state: SessionState): Generator<[runId: string, answer: JsonObject]> {
  for (const [key, value] of state.entries())
    if (key.startsWith(answerPrefix)) yield [key.slice(answerPrefix.length), value as JsonObject];
}

export function takeAnswer(state: SessionState, runId: string): JsonObject | undefined {
  const answer = state.get(answerPrefix + runId);
  if (answer === undefined) return undefined;
  state.delete(answerPrefix + runId);
  return answer as JsonObject;
}

/** Removes the runs from the state of a fork: they continue in the original session. */
export function forgetAll(state: SessionState): void {
  forget(state, [runPrefix, stepPrefix, answerPrefix]);
}

/** Removes only runs in progress, for a session that is restored to a snapshot: they are not run again. */
export function forgetRuns(state: SessionState): void {
  forget(state, [runPrefix, stepPrefix]);
}

function forget(state: SessionState, prefixes: readonly string[]): void {
  for (const [key] of [...state.entries()]) if (prefixes.some((prefix) => key.startsWith(prefix))) state.delete(key);
}
