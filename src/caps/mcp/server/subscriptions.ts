// The watched resources of a server, with the number of sessions that watch each, and the subscriptions at the server.
import type { McpSubscription, SubscriptionFilter } from "@modelcontextprotocol/client";
import { mcpLimits } from "../limits.ts";
import { capabilityMissing } from "../problems.ts";
import { within } from "../sdk/within.ts";
import type { Connection } from "./connection.ts";

interface Watch {
  sessions: number;
  /** Settles when the server has confirmed the subscription; undefined if none was sent. */
  told: Promise<void> | undefined;
}

export class Subscriptions {
  readonly #serverId: string;
  readonly #report: (error: Error) => void;
  readonly #watched = new Map<string, Watch>();
  /** The stream with all changes of a stateless server. */
  #stream: McpSubscription | undefined;
  #listening: Promise<void> = Promise.resolve();

  constructor(serverId: string, report: (error: Error) => void) {
    this.#serverId = serverId;
    this.#report = report;
  }

  /** Counts a session, and resolves when the server has confirmed the subscription. */
  async add(uri: string, connection: Connection, signal?: AbortSignal): Promise<void> {
    if (!isAble(connection)) throw capabilityMissing(this.#serverId, "subscriptions of resources");
    this.expect(uri);
    try {
      await within(this.#tell(uri, connection), signal);
    } catch (error) {
      await this.delete(uri, connection).catch(() => {});
      throw error;
    }
  }

  /** Counts a session without waiting: the subscription is sent when there is a connection. */
  expect(uri: string): void {
    const watch = this.#watched.get(uri);
    if (watch === undefined) this.#watched.set(uri, { sessions: 1, told: undefined });
    else watch.sessions += 1;
  }

  /** Uncounts a session; after the last, unsubscribes at the server if it is connected. */
  async delete(uri: string, connection: Connection | undefined): Promise<void> {
    const watch = this.#watched.get(uri);
    if (watch === undefined) return;
    watch.sessions -= 1;
    if (watch.sessions > 0) return;
    this.#watched.delete(uri);
    if (connection === undefined || watch.told === undefined) return;
    if (connection.isStateless) await this.#listen(connection);
    else await connection.client.unsubscribeResource({ uri });
  }

  /**
   * Sends all subscriptions to a new connection. Failures are only reported: a resource that is gone must not prevent
   * the connection.
   */
  async renew(connection: Connection, signal: AbortSignal): Promise<void> {
    this.#stream = undefined;
    for (const watch of this.#watched.values()) watch.told = undefined;
    // A stateless server reports changes of its lists on the same stream, so it is opened even if nothing is watched.
    const telling = connection.isStateless ? [this.#tellAtOnce(connection)] : this.#tellRest(connection);
    await within(this.#settle(telling), signal);
  }

  /** Sends the subscriptions that were added since renew(). */
  tellRest(connection: Connection): void {
    void this.#settle(this.#tellRest(connection));
  }

  #tellRest(connection: Connection): Promise<void>[] {
    const untold = [...this.#watched].filter(([, { told }]) => told === undefined);
    if (untold.length === 0 || !isAble(connection)) return [];
    return connection.isStateless ? [this.#tellAtOnce(connection)] : untold.map(([uri]) => this.#tell(uri, connection));
  }

  async #settle(telling: Promise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(telling);
    for (const outcome of outcomes) if (outcome.status === "rejected") this.#report(outcome.reason as Error);
  }

  /** Subscribes once for all sessions that watch the resource. */
  #tell(uri: string, connection: Connection): Promise<void> {
    const watch = this.#watched.get(uri);
    if (watch?.told !== undefined) return watch.told;
    if (connection.isStateless) return this.#tellAtOnce(connection);
    const told = connection.client.subscribeResource({ uri }).then(() => {});
    if (watch !== undefined) note(watch, told);
    return told;
  }

  /** Subscribes to all watched resources with a single stream. */
  #tellAtOnce(connection: Connection): Promise<void> {
    const told = this.#listen(connection);
    for (const watch of this.#watched.values()) if (watch.told === undefined) note(watch, told);
    return told;
  }

  /** In sequence: each new stream includes everything of the last. */
  #listen(connection: Connection): Promise<void> {
    const listening = this.#listening.catch(() => {}).then(() => this.#replaceStream(connection));
    this.#listening = listening;
    return listening;
  }

  async #replaceStream(connection: Connection): Promise<void> {
    const filter = toFilter(connection, isAble(connection) ? [...this.#watched.keys()] : []);
    const last = this.#stream;
    const stream = Object.keys(filter).length === 0 ? undefined : await connection.client.listen(filter);
    this.#stream = stream;
    void stream?.closed.then((how) => {
      if (how !== "local" && this.#stream === stream) this.#listenAgain(connection, stream);
    });
    await last?.close();
  }

  #listenAgain(connection: Connection, stream: McpSubscription): void {
    setTimeout(() => {
      if (this.#stream === stream) this.#listen(connection).catch((error: Error) => this.#report(error));
    }, mcpLimits.initialBackoffMs).unref();
  }
}

/** A failed subscription counts as not sent and may be retried. */
function note(watch: Watch, told: Promise<void>): void {
  watch.told = told;
  told.catch(() => {
    if (watch.told === told) watch.told = undefined;
  });
}

function isAble({ client }: Connection): boolean {
  return client.getServerCapabilities()?.resources?.subscribe === true;
}

function toFilter({ client }: Connection, uris: string[]): SubscriptionFilter {
  const { tools, prompts, resources } = client.getServerCapabilities() ?? {};
  return {
    ...(tools?.listChanged === true ? { toolsListChanged: true } : {}),
    ...(prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    ...(resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: uris } : {}),
  };
}
