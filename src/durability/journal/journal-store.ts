// The port that a database implements to be a journal: it commits turns and reads sessions. `JournalEntry` decides when a
// line may be sent; it is the same for all stores.
import type { Journal } from "../../host/ports/journal.ts";
import type { SessionRecord } from "../../host/session/session-record.ts";

export interface JournalStore extends Pick<Journal, "load" | "forgetOlderThan" | "close"> {
  /**
   * At the end of the current turn of the event loop, calls `unit.take()` once and makes the turns that it returns
   * durable, all or none of them; then calls `unit.ended()` once, unless there were no turns. Several units of a session
   * may be in flight. They become durable, and `ended` is called, in the order of `take`. If a unit fails, so do all later
   * units with one of its sessions that were taken before its `ended` was called: no turn may follow a lost turn.
   * An error means that the turns are not durable and never will be. If the result of a commit is unknown, for example
   * because the connection broke, the store must determine it before it calls `ended`.
   */
  commit(unit: CommitUnit): void;
}

/** The turns of one session to commit, with the first turns of its forks that were created in the same turn. */
export interface CommitUnit {
  /** Never throws. */
  take(): readonly SessionTurn[];
  /**
   * Called once while the turns are written, unless they are lost already: it may add writes to the same transaction. If it
   * throws, the turns must not become durable.
   */
  writing(): void;
  ended(error?: Error): void;
  /** The session that the unit removes, if any. `load` returns undefined for it as soon as `commit` was called. */
  readonly forgets?: string;
}

/**
 * Removes a session. If the commit fails, `load` in this process still does not return the session, and it is removed when
 * it has reached its maximum age.
 */
export function forgetSession(session: string): CommitUnit {
  const turn = { session, lines: [], lastSeq: 0, acknowledged: 0, changes: [], isForgotten: true } as const;
  return { take: () => [turn], writing() {}, ended() {}, forgets: session };
}

/** A key of a plugin's state with its new value as JSON; undefined if the key was deleted. */
export type WrittenState = readonly [plugin: string, key: string, json: string | undefined];

/** The lines and changes of one session in one turn. */
export interface SessionTurn {
  readonly session: string;
  readonly lines: readonly string[];
  /** The number of the last line, of this turn or an earlier one. */
  readonly lastSeq: number;
  /** The peer has every line up to this number. */
  readonly acknowledged: number;
  /** Lines up to this number are not needed once acknowledged: newer lines have used up `maxRememberedBytes`. */
  readonly outdated?: number;
  readonly changes: readonly WrittenState[];
  /** Present if it has changed, and in the first turn of a session. */
  readonly record?: SessionRecord;
  /** In the first turn of a fork: its state begins as that of this session was at its last split. */
  readonly forkOf?: string;
  /** The state after these changes is what forks begin with. Later changes of this session are not visible to them. */
  readonly isSplit?: true;
  /** The session is removed with all its data, except for state that its forks share. */
  readonly isForgotten?: true;
}
