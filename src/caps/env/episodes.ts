// The episodes of one session. All of them are in the session's state; those in use are in memory as well, and are made
// again from the state where it was restored, recovered or forked.

import type { SessionContext } from "../../host/plugin.ts";
import { isThenable } from "../../host/thenable.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { type Awaitable, andThen } from "./awaitable.ts";
import type { Environment } from "./define-env.ts";
import { Episode, type EpisodeServices, type EpisodeStart, keyOf, type SavedEpisode } from "./episode.ts";
import { noActiveEpisode, resetDenied } from "./problems.ts";

type Index = { ids: string[]; current: string };

const indexKey = "episodes";

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

  constructor(context: SessionContext, options: EpisodesOptions, services: Omit<EpisodeServices, "changed">) {
    this.#context = context;
    this.#options = options;
    const { state } = context;
    this.#services = {
      ...services,
      // Read when it is used: a folder for data is named when it is first needed.
      get dataDir() {
        return services.dataDir;
      },
      changed: (episode) => {
        if (!episode.isClosed && episode.isKept) state.setLive(episode.key, episode.save as () => JsonValue);
      },
    };
    this.#index = (state.get(indexKey) as Index | undefined) ?? { ids: [], current: "" };
  }

  get count(): number {
    return this.#index.ids.length;
  }

  start(environment: Environment, start: EpisodeStart): Awaitable<Episode> {
    this.#makeRoom();
    const id = this.#context.nextId();
    return andThen(Episode.start(id, environment, start, this.#services), (episode) => {
      this.#keep(episode);
      this.#context.state.setLive(episode.key, episode.save as () => JsonValue);
      this.#setIndex({ ids: [...this.#index.ids, id], current: id });
      return episode;
    });
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
      .then((episode) => this.#keep(episode))
      .finally(() => this.#opening.delete(id));
    this.#opening.set(id, later);
    return later;
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

  /** The session ends; what is saved stays. */
  release(): void {
    for (const episode of this.#open.values()) episode.close();
    this.#open.clear();
  }

  #makeRoom(): void {
    const { maxEpisodes, whenFull } = this.#options;
    const { ids } = this.#index;
    if (ids.length < maxEpisodes) return;
    const oldest = ids.find((id) => this.#isCompleted(id)) ?? (whenFull === "close_oldest" ? ids[0] : undefined);
    if (oldest !== undefined) return this.close(oldest);
    throw resetDenied(`this session has ${maxEpisodes} episodes that go on; close one first`);
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
