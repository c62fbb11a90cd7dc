// The link to one server: opened when it is needed, and reopened after a growing delay when it is lost. Callers wait
// while it is being opened, and are rejected at once while it is down.
import { A2EError } from "../../../protocol/errors.ts";
import type { BridgeEnvironment } from "../environment.ts";
import { mcpLimits } from "../limits.ts";
import { sleep, within } from "../sdk/within.ts";
import type { Connection } from "./connection.ts";

export type LinkStatus = "idle" | "connecting" | "ready" | "waiting" | "unauthorized" | "stopped";

/** The server behind the link. */
export interface LinkPort {
  readonly environment: BridgeEnvironment;
  readonly autoReconnect: boolean;
  /** Opens a connection and reads all that the bridge needs before the first call. */
  connect(signal: AbortSignal): Promise<Connection>;
  /** The reason why a connection could not be opened. */
  judge(cause: unknown): { reason: string; isUnauthorized: boolean };
  onOpen(connection: Connection): void;
  /** The connection is about to be closed. */
  onDrop(connection: Connection): void;
  onStatus(status: LinkStatus, error: string): void;
  /** True while a user is expected to authorise. */
  isAuthorizing(): boolean;
  /** The error for callers that need the link while it is down. */
  unavailable(retryAfterMs: number | undefined): A2EError;
}

export class ServerLink {
  readonly #port: LinkPort;
  #status: LinkStatus = "idle";
  #error = "";
  #connection: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #stopOpening: AbortController | undefined;
  #attempts = 0;
  #retryAt = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** Connections that are still being closed. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;
  /** How often the connection was lost. */
  losses = 0;

  constructor(port: LinkPort) {
    this.#port = port;
  }

  get status(): LinkStatus {
    return this.#status;
  }

  /** Why there is no connection; empty if there is one. */
  get error(): string {
    return this.#error;
  }

  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** The connection, once it is open. Rejects at once if the server is known to be down. */
  ready(signal?: AbortSignal): Promise<Connection> {
    if (this.#connection !== undefined) return Promise.resolve(this.#connection);
    // After an authorisation timed out, another attempt gets a new address for the user.
    if (this.#status === "idle" || (this.#status === "unauthorized" && !this.#port.isAuthorizing())) this.#open();
    if (this.#opening !== undefined) return within(this.#opening, signal);
    return Promise.reject(this.#unavailable());
  }

  /** The connection, after any number of attempts. Rejects if no further attempt is made, or the signal aborts. */
  async comeBack(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      try {
        return await this.ready(signal);
      } catch (error) {
        signal.throwIfAborted();
        if (this.#status !== "waiting") throw error;
        await sleep(this.#waitMs, signal);
      }
    }
  }

  /** Opens a new connection now, also if one is open or the next attempt is not due. */
  async reopen(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#connection !== undefined) this.#drop(this.#connection);
    this.#attempts = 0;
    if (this.#opening === undefined) this.#open();
    await this.#opening;
  }

  /** The server has lost this connection: a new one is opened without a delay. */
  forget(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#drop(connection);
    this.losses += 1;
    this.#open();
  }

  lose(connection: Connection, reason: string): void {
    if (this.#connection !== connection) return;
    if (this.#port.environment.clock.now() - connection.openedAt >= mcpLimits.stableAfterMs) this.#attempts = 0;
    this.#drop(connection);
    this.losses += 1;
    this.#wait(reason);
  }

  /** The server requires authorisation before it accepts further requests. */
  deny(connection: Connection): void {
    if (this.#connection !== connection) return;
    this.#drop(connection);
    this.#turn("unauthorized", "it requires authorisation");
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#isClosed = true;
    this.#status = "stopped";
    clearTimeout(this.#retryTimer);
    if (connection !== undefined) this.#drop(connection);
    this.#stopOpening?.abort(new A2EError("cancelled", "the server is being removed"));
    await this.#opening?.catch(() => {});
    await Promise.all(this.#closing);
  }

  #open(): void {
    this.#status = "connecting";
    clearTimeout(this.#retryTimer);
    const stop = new AbortController();
    this.#stopOpening = stop;
    const { connect_timeout_ms } = this.#port.environment.options;
    const tooLate = () => stop.abort(new A2EError("timeout", `it was not ready within ${connect_timeout_ms / 1000} s`));
    const timer = setTimeout(tooLate, connect_timeout_ms);
    const opening = this.#port.connect(stop.signal).then(
      (connection) => {
        clearTimeout(timer);
        this.#opening = undefined;
        return this.#opened(connection, stop.signal);
      },
      (cause: unknown) => {
        clearTimeout(timer);
        this.#opening = undefined;
        return this.#failed(stop.signal.aborted ? stop.signal.reason : cause);
      },
    );
    this.#opening = opening;
    // Callers get the rejection from ready(); without a caller it must not become an unhandled rejection.
    opening.catch(() => {});
  }

  async #opened(connection: Connection, signal: AbortSignal): Promise<Connection> {
    if (this.#isClosed || signal.aborted) {
      await connection.close().catch(() => {});
      throw signal.reason ?? this.#unavailable();
    }
    this.#connection = connection;
    connection.client.onclose = () => this.lose(connection, "the connection has ended");
    this.#port.onOpen(connection);
    this.#turn("ready", "");
    return connection;
  }

  #failed(cause: unknown): never {
    if (this.#isClosed) throw cause;
    const { reason, isUnauthorized } = this.#port.judge(cause);
    if (isUnauthorized) this.#turn("unauthorized", "it requires authorisation");
    else this.#wait(reason);
    throw this.#unavailable();
  }

  #wait(reason: string): void {
    const { environment, autoReconnect } = this.#port;
    if (!autoReconnect) return this.#turn("stopped", reason);
    const { initial_backoff_ms, max_backoff_ms } = environment.options;
    const delay = Math.min(max_backoff_ms, initial_backoff_ms * 2 ** Math.min(30, this.#attempts));
    this.#attempts += 1;
    this.#retryAt = environment.clock.now() + delay;
    this.#retryTimer = setTimeout(() => this.#open(), delay).unref();
    this.#turn("waiting", reason);
  }

  #turn(status: LinkStatus, error: string): void {
    this.#status = status;
    this.#error = error;
    this.#port.onStatus(status, error);
  }

  #drop(connection: Connection): void {
    this.#connection = undefined;
    connection.client.onclose = () => {};
    this.#port.onDrop(connection);
    const closing: Promise<void> = connection
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  get #waitMs(): number {
    return Math.max(0, Math.ceil(this.#retryAt - this.#port.environment.clock.now()));
  }

  #unavailable(): A2EError {
    return this.#port.unavailable(this.#status === "waiting" ? this.#waitMs : undefined);
  }
}
