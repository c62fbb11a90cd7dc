// Subscriptions to single resources in revision 2026-07-28. A client names them when it opens a stream of
// notifications. The SDK does not report them, but the servers behind the host need them too.
import { isJsonObject, type JsonObject } from "../../protocol/json.ts";
import { mcpLimits } from "./limits.ts";

interface Watched {
  /** Number of streams that watch it. */
  count: number;
  readonly isWatched: Promise<boolean>;
}

export interface Listening {
  /** The request without the resources that cannot be watched; the SDK confirms the rest to the client. */
  readonly body: unknown;
  end(): void;
}

export class ResourceWatches {
  readonly #watched = new Map<string, Watched>();
  readonly #watch: (uri: string, isWatched: boolean) => Promise<void>;
  readonly #patienceMs: number;

  /** `watch` rejects if a resource cannot be watched. */
  constructor(
    watch: (uri: string, isWatched: boolean) => Promise<void>,
    patienceMs: number = mcpLimits.bridgedWatchMs,
  ) {
    this.#watch = watch;
    this.#patienceMs = patienceMs;
  }

  /** Watches the resources of a request for as long as its stream is open. Other requests are returned unchanged. */
  async begin(body: unknown): Promise<Listening> {
    const filter = filterOf(body);
    if (filter === undefined) return { body, end() {} };
    const uris = [...new Set(filter.resourceSubscriptions.filter((uri) => typeof uri === "string"))];
    const areWatched = await Promise.all(uris.map((uri) => this.#beginInTime(uri)));
    const watched = uris.filter((_uri, index) => areWatched[index]);
    filter.resourceSubscriptions = watched;
    let isEnded = false;
    return {
      body,
      end: () => {
        if (!isEnded) for (const uri of watched) this.#end(uri);
        isEnded = true;
      },
    };
  }

  /** A server that hangs must not block the resources of the others. */
  async #beginInTime(uri: string): Promise<boolean> {
    const begun = this.#begin(uri);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => {
      timer = setTimeout(resolve, this.#patienceMs, "late");
    });
    const outcome = await Promise.race([begun, late]);
    clearTimeout(timer);
    if (outcome !== "late") return outcome;
    void begun.then((isWatched) => {
      if (isWatched) this.#end(uri);
    });
    return false;
  }

  async #begin(uri: string): Promise<boolean> {
    const known = this.#watched.get(uri);
    const isWatched =
      known?.isWatched ??
      this.#watch(uri, true).then(
        () => true,
        () => false,
      );
    const watched = known ?? { count: 0, isWatched };
    watched.count++;
    this.#watched.set(uri, watched);
    if (await isWatched) return true;
    this.#watched.delete(uri);
    return false;
  }

  #end(uri: string): void {
    const watched = this.#watched.get(uri);
    if (watched === undefined || --watched.count > 0) return;
    this.#watched.delete(uri);
    // If the session has ended, so has the subscription.
    this.#watch(uri, false).catch(() => {});
  }
}

function filterOf(body: unknown): (JsonObject & { resourceSubscriptions: unknown[] }) | undefined {
  if (!isJsonObject(body) || body.method !== "subscriptions/listen" || !isJsonObject(body.params)) return undefined;
  const filter = body.params.notifications;
  return isJsonObject(filter) && Array.isArray(filter.resourceSubscriptions) ? (filter as never) : undefined;
}
