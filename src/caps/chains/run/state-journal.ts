// What a run has come to, in the state of its session. Written when the turn is committed, so that a run which ends in
// the turn it began in, as most do, writes nothing at all.
import type { Database } from "../../../host/ports/database.ts";
import { localPrefix, type SessionState } from "../../../host/session/session-state.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import type { Recorded, RunJournal } from "./run-port.ts";

/** Never merged from a fork: what runs there runs there. */
const runPrefix = `${localPrefix}run:`;
const stepPrefix = `${localPrefix}step:`;
const answerPrefix = `${localPrefix}answer:`;

/** A run that another process has begun. */
export interface UnfinishedRun {
  readonly runId: string;
  /** What it was begun with. */
  readonly header: JsonObject;
  readonly steps: ReadonlyMap<string, Recorded>;
}

export class StateJournal implements RunJournal {
  readonly #state: SessionState;
  readonly #database: Database;
  readonly #runId: string;
  readonly #readHeader: () => JsonObject;
  readonly #known: ReadonlyMap<string, Recorded> | undefined;
  /** Keys and values in turn, not yet written. */
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

  /** The state was put back to what it was some other time: what was written here is no part of it. */
  get isReplaced(): boolean {
    return this.#header !== undefined && this.#state.get(runPrefix + this.#runId) !== this.#header;
  }

  #schedule(): void {
    this.#isScheduled = true;
    // Of a turn that is lost nothing is noted: the nodes' own changes are lost with it.
    const write = (lost?: Error) => {
      if (lost === undefined) this.#write();
    };
    // With what the nodes themselves have changed: what a tool has done and that it was done are one.
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

/** Runs that were under way when the state was last written. */
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
    // The key of a step has no colon, and the id of a run may have one.
    const end = key.indexOf(":", stepPrefix.length);
    runs.get(key.slice(end + 1))?.steps.set(key.slice(stepPrefix.length, end), value as unknown as Recorded);
  }
  return [...runs.values()];
}

/** What a resumed run came to, kept until its agent asks again. */
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

/** Takes runs out of a state that another session begins with: they go on where they are. */
export function forgetAll(state: SessionState): void {
  forget(state, [runPrefix, stepPrefix, answerPrefix]);
}

/** The same for what was under way alone: where a session is put back, what it did meanwhile is not done again. */
export function forgetRuns(state: SessionState): void {
  forget(state, [runPrefix, stepPrefix]);
}

function forget(state: SessionState, prefixes: readonly string[]): void {
  for (const [key] of [...state.entries()]) if (prefixes.some((prefix) => key.startsWith(prefix))) state.delete(key);
}
