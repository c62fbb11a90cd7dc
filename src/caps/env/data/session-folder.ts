// The folder of one session: its own, or one that it shares with forks. A fork copies nothing; the first write, by the
// parent or by the fork, makes the copy.
import { randomUUID } from "node:crypto";
import type { SessionContext } from "../../../plugin/plugin.ts";
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import type { Clock } from "../../../protocol/envelope.ts";
import type { StagedFolders } from "./staged-folders.ts";

type FolderPlace = {
  /** The folder of the session; it may not exist yet. */
  id: string;
  /** The shared folder to read from until then; never written to. */
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

  /** The path for writing. */
  async own(): Promise<string> {
    const { id, from } = this.#place();
    if (!this.#folders.exists(id)) {
      if (from !== undefined && this.#folders.exists(from)) await this.#folders.copy(from, id);
      else await this.#folders.create(id);
    }
    return this.#folders.pathOf(id);
  }

  /** Like `own`, synchronously, for environments. An empty folder is not created. */
  ownNow(): string {
    const { id, from } = this.#place();
    if (from !== undefined && !this.#folders.exists(id) && this.#folders.exists(from)) this.#folders.copyNow(from, id);
    return this.#folders.pathOf(id);
  }

  /** The path for reading. */
  get readable(): string {
    const { id, from } = this.#place();
    return this.#folders.pathOf(from === undefined || this.#folders.exists(id) ? id : from);
  }

  async touch(): Promise<void> {
    for (const name of namesIn(placeOf(this.#state))) await this.#folders.touch(name, this.#clock.now());
  }

  /**
   * Removes the session's own folder. A folder that forks read is left to `collect`, since these forks may not be open
   * now.
   */
  async remove(): Promise<void> {
    const place = placeOf(this.#state);
    if (place !== undefined && !this.#folders.isFrozen(place.id)) await this.#folders.remove(place.id);
  }

  /** From now on, both sessions read the files that exist now. */
  fork(forked: SessionState): void {
    const from = this.#freeze(this.#state);
    if (from !== undefined) this.#standOn(forked, from);
    else if (placeOf(forked) !== undefined) forked.delete(placeKey);
  }

  /**
   * Takes over the files of a fork if the fork has changed them and this session has not. Returns false, and takes
   * nothing, if both have changed files.
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
    // A snapshot from before a fork names a folder that has been frozen since.
    if (known !== undefined && !this.#folders.isFrozen(known.id)) return known;
    const place: FolderPlace = { id: createName(), ...(known === undefined ? {} : { from: known.id }) };
    this.#state.set(placeKey, place);
    return place;
  }

  /**
   * Freezes the folder that a session has written to, and makes the session read from it. Returns undefined if it has
   * no files.
   */
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

/** Not an id of the session: whether a name is needed depends on the disk, and a replay must draw the same ids. */
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
