// Programs may write only so much to a workspace. File systems that could be told so are on few machines, so what is free on
// the disk is looked at while programs run: that costs next to nothing, and only where it shrinks by more than they may
// write, the workspace itself is looked through.
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Confinement, SandboxLimits, SandboxPolicy } from "../../host/ports/sandbox.ts";
import { addedBytes, freeBytes } from "./workspace-size.ts";

export interface WorkspaceWatchOptions {
  /** Folders that are the host's, also where they lie in a workspace. */
  except?: readonly string[];
  pollMs?: number;
}

export interface Watching {
  /** There is too much in it already: a program may clear up, and nothing else. */
  readonly isFull: boolean;
  /** Whether this program was ended for what was written. */
  wasFilled(): boolean;
  close(): void;
}

interface Watcher {
  readonly maxBytes: number;
  readonly onFull: () => void;
}

interface Place {
  readonly folder: string;
  readonly shownAs: string;
  /** When the first program came. */
  readonly since: number;
  readonly watchers: Set<Watcher>;
  /** What would be free if no program had written anything. */
  freeBefore: number;
  /** When it was last looked through. */
  added: number;
  timer: NodeJS.Timeout | undefined;
  looking: Promise<void> | undefined;
}

/** What a program may add that begins in a full workspace: names, since it can write no file. */
const fullShare = 1 / 16;

export class WorkspaceWatch {
  readonly #except: readonly string[];
  readonly #pollMs: number;
  readonly #places = new Map<string, Place>();

  constructor({ except = [], pollMs = 200 }: WorkspaceWatchOptions = {}) {
    this.#except = except;
    this.#pollMs = pollMs;
  }

  /** Calls back once, when programs have added more to this folder than they may since the first one was watched. */
  async open(workspace: string, maxBytes: number, end: () => void): Promise<Watching> {
    const place = await this.#placeOf(workspace);
    if (place.added > maxBytes) await this.#measureAll(place);
    const isFull = place.added > maxBytes;
    let wasFilled = false;
    const watcher: Watcher = {
      maxBytes: isFull ? place.added + maxBytes * fullShare : maxBytes,
      onFull: () => {
        wasFilled = true;
        end();
      },
    };
    place.watchers.add(watcher);
    place.timer ??= setInterval(() => void this.#look(place), this.#pollMs).unref();
    return {
      isFull,
      wasFilled: () => wasFilled,
      close: () => this.#forget(place, watcher),
    };
  }

  async #placeOf(workspace: string): Promise<Place> {
    const known = this.#places.get(workspace);
    if (known !== undefined) return known;
    const since = Date.now();
    const folder = await realpath(workspace);
    const freeBefore = await freeBytes(folder);
    const place = this.#places.get(workspace) ?? {
      folder,
      shownAs: resolve(workspace),
      since,
      freeBefore,
      added: 0,
      watchers: new Set(),
      timer: undefined,
      looking: undefined,
    };
    this.#places.set(workspace, place);
    return place;
  }

  #forget(place: Place, watcher: Watcher): void {
    place.watchers.delete(watcher);
    if (place.watchers.size > 0) return;
    clearInterval(place.timer);
    place.timer = undefined;
  }

  async #look(place: Place): Promise<void> {
    const free = await freeBytes(place.folder).catch(() => place.freeBefore);
    // Somebody else has cleared up.
    place.freeBefore = Math.max(place.freeBefore, free);
    const limits = [...place.watchers].map(({ maxBytes }) => maxBytes);
    if (place.freeBefore - free <= Math.min(...limits)) return;
    await this.#measure(place, Math.max(...limits));
    for (const watcher of place.watchers) {
      if (place.added <= watcher.maxBytes) continue;
      this.#forget(place, watcher);
      watcher.onFull();
    }
  }

  /** One at a time: whoever comes meanwhile gets what the first one finds. */
  #measure(place: Place, enough: number): Promise<void> {
    place.looking ??= this.#measureNow(place, enough).finally(() => {
      place.looking = undefined;
    });
    return place.looking;
  }

  /** To the last file, and not only as far as somebody else wanted to know. */
  async #measureAll(place: Place): Promise<void> {
    await place.looking;
    await this.#measure(place, Number.POSITIVE_INFINITY);
  }

  async #measureNow(place: Place, enough: number): Promise<void> {
    place.added = await addedBytes({ ...place, except: this.#except, enough }).catch(() => place.added);
    // The rest was written by others, or elsewhere on this disk.
    place.freeBefore = (await freeBytes(place.folder).catch(() => place.freeBefore)) + place.added;
  }
}

type Made = (limits: SandboxLimits) => Promise<Confinement>;

/** Makes a confinement whose program is ended when programs have filled its workspace. */
export async function confineWatched(
  watch: WorkspaceWatch,
  { workspace }: SandboxPolicy,
  limits: SandboxLimits,
  make: Made,
): Promise<Confinement> {
  if (workspace?.access !== "write") return make(limits);
  let confinement: Confinement | undefined;
  const { isFull, wasFilled, close } = await watch.open(
    workspace.path,
    limits.workspaceBytes,
    () => void confinement?.release().catch(() => {}),
  );
  try {
    confinement = await make(isFull ? { ...limits, fileBytes: 0 } : limits);
  } catch (error) {
    close();
    throw error;
  }
  const { verdict, release } = confinement;
  return {
    ...confinement,
    verdict: async (exit) => (wasFilled() ? "sandbox_crash" : verdict(exit)),
    isWorkspaceFull: () => isFull || wasFilled(),
    release() {
      close();
      return release();
    },
  };
}
