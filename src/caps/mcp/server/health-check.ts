// Pings a server to find out whether it answers, and how fast.
import type { BridgeEnvironment } from "../environment.ts";
import { mcpLimits } from "../limits.ts";
import type { Connection } from "./connection.ts";

interface CheckedServer {
  readonly environment: BridgeEnvironment;
  readonly isInUse: boolean;
  /** True if the failure is an error answer of the server. */
  isAnswer(cause: unknown): boolean;
  renew(reason: string): void;
}

export interface HealthCheck {
  readonly lastPingMs: number;
  /** The problem of a connected server; empty if there is none. */
  readonly problem: string;
  start(connection: Connection): void;
  stop(): void;
}

export function createHealthCheck(server: CheckedServer): HealthCheck {
  let lastPingMs = 0;
  let missed = 0;
  let timer: NodeJS.Timeout | undefined;

  /** False if there was no answer. An error answer, such as "unknown method", is an answer. */
  const ping = async ({ client, isStateless }: Connection): Promise<boolean> => {
    const startedAt = performance.now();
    const options = { timeout: server.environment.options.ping_timeout_ms };
    try {
      // The stateless revision has no ping; discover() costs as little.
      await (isStateless ? client.discover(options) : client.ping(options));
    } catch (cause) {
      if (!server.isAnswer(cause)) return false;
    }
    lastPingMs = Math.round((performance.now() - startedAt) * 100) / 100;
    return true;
  };

  const schedule = (connection: Connection, delayMs: number) => {
    const current = setTimeout(async () => {
      const isAnswered = await ping(connection);
      if (timer !== current) return;
      missed = isAnswered ? 0 : missed + 1;
      // A busy server may be too slow to answer pings; its callers have timeouts of their own.
      if (missed >= mcpLimits.maxMissedPings && !server.isInUse) return server.renew("it does not answer pings");
      schedule(connection, server.environment.options.ping_interval_ms);
    }, delayMs).unref();
    timer = current;
  };

  const stop = () => {
    clearTimeout(timer);
    timer = undefined;
    missed = 0;
  };

  return {
    get lastPingMs() {
      return lastPingMs;
    },
    get problem() {
      return missed === 0 ? "" : `${missed} consecutive pings were not answered`;
    },
    start(connection) {
      stop();
      if (server.environment.options.ping_interval_ms > 0) schedule(connection, 0);
    },
    stop,
  };
}
