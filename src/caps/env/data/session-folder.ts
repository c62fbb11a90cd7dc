// Where the files of one session are: in a folder of its own, or still in one that it shares with forks. A fork copies
// nothing; whoever writes first, parent or fork, copies then.
import { randomUUID } from "node:crypto";
import type { SessionContext } from "../../../host/plugin.ts";
import { localPrefix, type SessionState } from "../../../host/session/session-state.ts";
import type { Clock } from "../../../protocol/envelope.ts";
import type { StagedFolders } from "./staged-folders.ts";

type FolderPlace = {
  /** The session's own; it need not be there yet. */
  id: string;
  /** Read from until then, and never written to. */
  from?: string;
};

const placeKey = `${localPrefix}data`;

export class SessionFolder {
  readonly #folders: StagedFolders;
  readonly #state: SessionState;
  readonly #clock: Clock;
  readonly #leave: () => void;

  constructor(folders: StagedFolders, { state, clock }: Pick<SessionContext, "state" | "clock">) {
    this.#folders = folders;
    this.#state = state;
    this.#clock = clock;
    this.#leave = folders.enter(() => namesIn(placeOf(state)));
  }

  close(): void {
    this.#leave();
  }

  /** Its path, to be written to. */
  async own(): Promise<string> {
    const { id, from } = this.#place();
    if (!this.#folders.exists(id)) {
      if (from !== undefined && this.#folders.exists(from)) await this.#folders.copy(from, id);
      else await this.#folders.create(id);
    }
    return this.#folders.pathOf(id);
  }

  /** The same at once, for environments; it is not made where there is nothing to put in. */
  ownNow(): string {
    const { id, from } = this.#place();
    if (from !== undefined && !this.#folders.exists(id) && this.#folders.exists(from)) this.#folders.copyNow(from, id);
    return this.#folders.pathOf(id);
  }

  /** Its path, to be read from. */
  get readable(): string {
    const { id, from } = this.#place();
    return this.#folders.pathOf(from === undefined || this.#folders.exists(id) ? id : from);
  }

  async touch(): Promise<void> {
    for (const name of namesIn(placeOf(this.#state))) await this.#folders.touch(name, this.#clock.now());
  }

  /** Removes what is the session's alone. What forks read from goes when nobody has touched it for long: they may not be open. */
  async remove(): Promise<void> {
    const place = placeOf(this.#state);
    if (place !== undefined && !this.#folders.isFrozen(place.id)) await this.#folders.remove(place.id);
  }

  /** Both go on from what is there now. */
  fork(forked: SessionState): void {
    const from = this.#freeze(this.#state);
    if (from !== undefined) this.#standOn(forked, from);
    else if (placeOf(forked) !== undefined) forked.delete(placeKey);
  }

  /**
   * Takes over the files of a fork, where it has changed them and this session has not since. False where both have: then
   * nothing is taken.
   */
  adopt(fork: SessionState): boolean {
    const theirs = placeOf(fork);
    if (theirs === undefined || !this.#folders.exists(theirs.id)) return true;
    const ours = placeOf(this.#state);
    const isChanged = ours !== undefined && (this.#folders.exists(ours.id) || ours.from !== theirs.from);
    if (isChanged) return false;
    const from = this.#freeze(fork);
    if (from !== undefined) this.#standOn(this.#state, from);
    return true;
  }

  #place(): FolderPlace {
    const known = placeOf(this.#state);
    // A snapshot of before a fork names what the fork reads from by now.
    if (known !== undefined && !this.#folders.isFrozen(known.id)) return known;
    const place: FolderPlace = { id: createName(), ...(known === undefined ? {} : { from: known.id }) };
    this.#state.set(placeKey, place);
    return place;
  }

  /** What a session has written so far becomes what it, and others, read from; undefined where it has no files. */
  #freeze(state: SessionState): string | undefined {
    const place = placeOf(state);
    if (place === undefined) return undefined;
    if (!this.#folders.exists(place.id)) return place.from;
    this.#folders.freeze(place.id);
    this.#standOn(state, place.id);
    return place.id;
  }

  #standOn(state: SessionState, from: string): void {
    state.set(placeKey, { id: createName(), from });
  }
}

/** None of the session's own ids: whether one is needed depends on the disk, and a replay must draw the same. */
function createName(): string {
  return randomUUID();
}

function placeOf(state: SessionState): FolderPlace | undefined {
  return state.get(placeKey) as FolderPlace | undefined;
}

function namesIn(place: FolderPlace | undefined): string[] {
  if (place === undefined) return [];
  return place.from === undefined ? [place.id] : [place.id, place.from];
}
