// The episodes of one session. All of them are in the session's state; those in use are in memory as well, and are made
// again from the state where it was restored, recovered or forked.
import type { SessionContext } from "../../../host/plugin.ts";
import { localPrefix, type SessionState } from "../../../host/session/session-state.ts";
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { Environment } from "../define-env.ts";
import { noActiveEpisode, resetDenied } from "../problems.ts";
import type { Caller } from "./caller-turns.ts";
import { Episode, type EpisodeServices, type EpisodeStart } from "./episode.ts";
import { keyOf, type SavedEpisode } from "./saved-episode.ts";

type Index = { ids: string[]; current: string };

/** Not merged as one value: a fork and its parent may both have begun episodes. */
const indexKey = `${localPrefix}episodes`;

export interface EpisodesOptions {
  readonly maxEpisodes: number;
  /** What a reset does where the session has as many episodes as it may, none of them completed. */
  readonly whenFull: "deny" | "close_oldest";
  environment(name: string): Environment;
}

export class Episodes {
  readonly #context: SessionContext;
  readonly #options: EpisodesOptions;
  readonly #services: EpisodeServices;
  readonly #open = new Map<string, Episode>();
  readonly #opening = new Map<string, Promise<Episode>>();
  #index: Index;
  /** Resets that are under way: each needs room when it succeeds. */
  #starting = 0;
  #isReleased = false;

  constructor(context: SessionContext, options: EpisodesOptions, services: Omit<EpisodeServices, "changed">) {
    this.#context = context;
    this.#options = options;
    const { state } = context;
    // Not a copy: the folder for data is named when it is first asked for, and most sessions never do.
    this.#services = Object.assign(Object.create(services) as EpisodeServices, {
      changed: (episode: Episode) => {
        if (!episode.isClosed && episode.isKept) state.setLive(episode.key, episode.save as () => JsonValue);
      },
    });
    this.#index = readIndex(state);
  }

  start(environment: Environment, start: EpisodeStart, caller?: Caller): Awaitable<Episode> {
    return this.#add((id) => Episode.start(id, environment, start, this.#services, caller), true);
  }

  /** Another episode that begins where this one is. A request without an id still means the one it meant. */
  fork(given: string, seed: number | null, caller?: Caller): Awaitable<Episode> {
    return andThen(this.get(given), (episode) => this.#add((id) => episode.copy(id, seed, caller), false));
  }

  /** Puts an episode back to where another one is. What is under way in it ends, and comes to nothing. */
  restore(given: string, from: string, caller?: Caller): Awaitable<Episode> {
    return andThen(this.get(given), ({ id, environment }) =>
      andThen(this.get(from), (source) => {
        if (source.environment !== environment)
          throw resetDenied(`"${from.slice(0, 64)}" is an episode of "${source.environment.name}"`);
        return andThen(source.copy(id, null, caller), (restored) => this.#replace(restored));
      }),
    );
  }

  /** Another one may have been put in its place while this one was made. */
  #replace(restored: Episode): Episode {
    const replaced = this.#open.get(restored.id);
    this.#keepRestored(restored);
    replaced?.close();
    this.#context.state.setLive(restored.key, restored.save as () => JsonValue);
    return restored;
  }

  #add(create: (id: string) => Awaitable<Episode>, isCurrent: boolean): Awaitable<Episode> {
    if (this.#starting >= this.#room()) throw this.#full();
    const created = create(this.#context.nextId());
    if (!isThenable(created)) return this.#begin(created as Episode, isCurrent);
    this.#starting += 1;
    return (created as Promise<Episode>)
      .finally(() => {
        this.#starting -= 1;
      })
      .then((episode) => this.#begin(episode, isCurrent));
  }

  #begin(episode: Episode, isCurrent: boolean): Episode {
    try {
      this.#assertOpen();
      // Only now: a reset that fails costs no other episode its place.
      this.#makeRoom();
    } catch (error) {
      episode.close();
      throw error;
    }
    this.#keep(episode);
    this.#context.state.setLive(episode.key, episode.save as () => JsonValue);
    const { ids, current } = this.#index;
    this.#setIndex({ ids: [...ids, episode.id], current: isCurrent ? episode.id : current });
    return episode;
  }

  /** The episode of this id, or the current one; throws where there is none. */
  get(given: string): Awaitable<Episode> {
    const id = given === "" ? this.#index.current : given;
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const opening = this.#opening.get(id);
    if (opening !== undefined) return opening;
    const saved = id === "" ? undefined : (this.#context.state.get(keyOf(id)) as SavedEpisode | undefined);
    if (saved === undefined) throw noActiveEpisode(given);
    const restored = Episode.restore(id, this.#options.environment(saved.env_name), saved, this.#services);
    if (!isThenable(restored)) return this.#keep(restored as Episode);
    const later = (restored as Promise<Episode>)
      .then((episode) => this.#keepRestored(episode))
      .finally(() => this.#opening.delete(id));
    this.#opening.set(id, later);
    return later;
  }

  /** It may have been closed while it was made again, or its session. */
  #keepRestored(episode: Episode): Episode {
    try {
      this.#assertOpen();
      if (!this.#index.ids.includes(episode.id)) throw noActiveEpisode(episode.id);
    } catch (error) {
      episode.close();
      throw error;
    }
    return this.#keep(episode);
  }

  #keep(episode: Episode): Episode {
    episode.isKept = true;
    this.#open.set(episode.id, episode);
    return episode;
  }

  /** Closing what is not there is fine. */
  close(given: string): void {
    const id = given === "" ? this.#index.current : given;
    if (!this.#index.ids.includes(id)) return;
    const episode = this.#open.get(id);
    this.#open.delete(id);
    this.#context.state.delete(keyOf(id));
    const { ids, current } = this.#index;
    this.#setIndex({ ids: ids.filter((known) => known !== id), current: current === id ? "" : current });
    episode?.close();
  }

  /** Takes in those that a fork began, and lets go of those that it closed; the host has merged what is in them. */
  merge(fork: SessionState): void {
    const isThere = (id: string) => this.#context.state.get(keyOf(id)) !== undefined;
    const ids = [...new Set([...this.#index.ids, ...readIndex(fork).ids])].filter(isThere);
    const { current } = this.#index;
    this.#setIndex({ ids, current: ids.includes(current) ? current : "" });
  }

  /** The session ends, or its state is put back: what is saved stays, and what is under way comes to nothing. */
  release(): void {
    this.#isReleased = true;
    for (const episode of this.#open.values()) episode.close();
    this.#open.clear();
  }

  #assertOpen(): void {
    if (this.#isReleased) throw new A2EError("cancelled", "the session was closed or put back meanwhile");
  }

  /** How many more episodes there may be, if those that may be closed for it are. */
  #room(): number {
    const { maxEpisodes, whenFull } = this.#options;
    const { ids } = this.#index;
    if (whenFull === "close_oldest") return maxEpisodes;
    const free = maxEpisodes - ids.length;
    return free > this.#starting ? free : free + ids.filter((id) => this.#isCompleted(id)).length;
  }

  #makeRoom(): void {
    const { maxEpisodes, whenFull } = this.#options;
    while (this.#index.ids.length >= maxEpisodes) {
      const { ids } = this.#index;
      const oldest = ids.find((id) => this.#isCompleted(id)) ?? (whenFull === "close_oldest" ? ids[0] : undefined);
      if (oldest === undefined) throw this.#full();
      this.close(oldest);
    }
  }

  #full(): A2EError {
    const { maxEpisodes } = this.#options;
    return resetDenied(`this session has ${maxEpisodes} episodes that go on; close one first`);
  }

  #isCompleted(id: string): boolean {
    const open = this.#open.get(id);
    if (open !== undefined) return open.isCompleted;
    const saved = this.#context.state.get(keyOf(id)) as SavedEpisode | undefined;
    return saved === undefined || saved.done || saved.truncated;
  }

  #setIndex(index: Index): void {
    this.#index = index;
    this.#context.state.set(indexKey, index);
  }
}

function readIndex(state: SessionState): Index {
  return (state.get(indexKey) as Index | undefined) ?? { ids: [], current: "" };
}
