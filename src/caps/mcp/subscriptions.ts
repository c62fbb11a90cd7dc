// Which resources of a server are watched, by how many sessions, and how that is told to servers of either kind.
import type { McpSubscription, SubscriptionFilter } from "@modelcontextprotocol/client";
import type { Connection } from "./connection.ts";
import { mcpLimits } from "./limits.ts";
import { capabilityMissing } from "./problems.ts";

export class Subscriptions {
  readonly #serverId: string;
  readonly #report: (error: Error) => void;
  readonly #watched = new Map<string, number>();
  /** What a stateless server tells of, all on one stream. */
  #stream: McpSubscription | undefined;
  #listening: Promise<void> = Promise.resolve();

  constructor(serverId: string, report: (error: Error) => void) {
    this.#serverId = serverId;
    this.#report = report;
  }

  /** Counts one more session; the server is told of the first. */
  async add(uri: string, connection: Connection, signal?: AbortSignal): Promise<void> {
    const { client, isStateless } = connection;
    const count = this.#watched.get(uri) ?? 0;
    if (count > 0) return void this.#watched.set(uri, count + 1);
    if (client.getServerCapabilities()?.resources?.subscribe !== true)
      throw capabilityMissing(this.#serverId, "subscriptions of resources");
    if (!isStateless) await client.subscribeResource({ uri }, signal === undefined ? {} : { signal });
    this.#watched.set(uri, (this.#watched.get(uri) ?? 0) + 1);
    if (isStateless) await this.#listen(connection);
  }

  /** Counts one less; after the last the server is told, where it is there to be told. */
  async delete(uri: string, connection: Connection | undefined): Promise<void> {
    const count = this.#watched.get(uri) ?? 0;
    if (count > 1) return void this.#watched.set(uri, count - 1);
    if (!this.#watched.delete(uri) || connection === undefined) return;
    if (connection.isStateless) await this.#listen(connection);
    else await connection.client.unsubscribeResource({ uri });
  }

  /** Tells a new connection everything again. What a server no longer has is its affair: it must not keep it away. */
  async renew(connection: Connection, signal: AbortSignal): Promise<void> {
    this.#stream = undefined;
    if (connection.isStateless) return this.#listen(connection).catch((error: Error) => this.#report(error));
    if (connection.client.getServerCapabilities()?.resources?.subscribe !== true) return;
    for (const uri of this.#watched.keys())
      await connection.client.subscribeResource({ uri }, { signal }).catch((error: Error) => this.#report(error));
  }

  /** One after another: each new stream has all that the last one had. */
  #listen(connection: Connection): Promise<void> {
    const listening = this.#listening.catch(() => {}).then(() => this.#replaceStream(connection));
    this.#listening = listening;
    return listening;
  }

  async #replaceStream(connection: Connection): Promise<void> {
    const filter = toFilter(connection, [...this.#watched.keys()]);
    const last = this.#stream;
    this.#stream = undefined;
    if (Object.keys(filter).length > 0) {
      const stream = await connection.client.listen(filter);
      this.#stream = stream;
      void stream.closed.then((how) => {
        if (how !== "local" && this.#stream === stream) this.#listenAgain(connection, stream);
      });
    }
    await last?.close();
  }

  #listenAgain(connection: Connection, stream: McpSubscription): void {
    setTimeout(() => {
      if (this.#stream === stream) this.#listen(connection).catch((error: Error) => this.#report(error));
    }, mcpLimits.initialBackoffMs).unref();
  }
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
