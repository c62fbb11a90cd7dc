// The episodes of one session. The session's state has all of them. Episodes in use are also in memory; after a
// restart, a restore or a fork they are rebuilt from the state on first use.
import type { SessionContext } from "../../../plugin/plugin.ts";
import { localPrefix, type SessionState } from "../../../plugin/session-state.ts";
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import type { Environment } from "../define-env.ts";
import { noActiveEpisode, resetDenied } from "../problems.ts";
import type { Caller } from "./caller-turns.ts";
import { Episode, type EpisodeServices, type EpisodeStart } from "./episode.ts";
import { keyOf, type SavedEpisode } from "./saved-episode.ts";

type Index = { ids: string[]; current: string };

/** A local key: a fork and its parent may both have started episodes, so `merge` combines the two lists. */
const indexKey = `${localPrefix}episodes`;

export interface EpisodesOptions {
  readonly maxEpisodes: number;
  /** Decides about a reset in a session that has `maxEpisodes` episodes, none of them completed. */
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
  /** Resets that are running: each needs room if it succeeds. */
  #starting = 0;
  #isReleased = false;

  constructor(context: SessionContext, options: EpisodesOptions, services: Omit<EpisodeServices, "changed">) {
    this.#context = context;
    this.#options = options;
    const { state } = context;
    // Inherited and not copied: reading `dataDir` creates the session's folder, which most sessions never need.
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

  /** A new episode that begins with the state of the given one. The current episode stays the same. */
  fork(given: string, seed: number | null, caller?: Caller): Awaitable<Episode> {
    return andThen(this.get(given), (episode) => this.#add((id) => episode.copy(id, seed, caller), false));
  }

  /** Replaces an episode with a copy of another. Work that runs in the replaced episode ends without an effect. */
  restore(given: string, from: string, caller?: Caller): Awaitable<Episode> {
    return andThen(this.get(given), ({ id, environment }) =>
      andThen(this.get(from), (source) => {
        if (source.environment !== environment)
          throw resetDenied(`"${from.slice(0, 64)}" is an episode of "${source.environment.name}"`);
        return andThen(source.copy(id, null, caller), (restored) => this.#replace(restored));
      }),
    );
  }

  /** Closes the episode that is open now: it may be a different one than at the start of the restore. */
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
      // After the reset, so that a reset that fails does not close another episode.
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

  /** Returns the episode with this id, or the current one for an empty id. Throws if it does not exist. */
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

  /** The episode or the session may have been closed while the episode was being restored. */
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

  /** Closing an episode that does not exist is allowed. */
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

  /**
   * Adds the episodes that a fork started and drops those that it closed. The host has merged their states already.
   */
  merge(fork: SessionState): void {
    const isThere = (id: string) => this.#context.state.get(keyOf(id)) !== undefined;
    const ids = [...new Set([...this.#index.ids, ...readIndex(fork).ids])].filter(isThere);
    const { current } = this.#index;
    this.#setIndex({ ids, current: ids.includes(current) ? current : "" });
  }

  /** The session was closed or its state was replaced: saved episodes stay, running work ends without an effect. */
  release(): void {
    this.#isReleased = true;
    for (const episode of this.#open.values()) episode.close();
    this.#open.clear();
  }

  #assertOpen(): void {
    if (this.#isReleased) throw new A2EError("cancelled", "the session was closed or restored during the call");
  }

  /** How many more episodes may start, counting those that a new episode may replace. */
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
    return resetDenied(`this session has ${maxEpisodes} episodes that are not completed; close one first`);
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
