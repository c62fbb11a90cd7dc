// Whether a server still answers, and how fast.
import type { Connection } from "./connection.ts";
import type { BridgeEnvironment } from "./environment.ts";
import { mcpLimits } from "./limits.ts";

interface CheckedServer {
  readonly environment: BridgeEnvironment;
  readonly isInUse: boolean;
  renew(reason: string): void;
}

export interface HealthCheck {
  readonly lastPingMs: number;
  /** What is wrong with a server that is connected; empty where nothing is. */
  readonly problem: string;
  start(connection: Connection): void;
  stop(): void;
}

export function createHealthCheck(server: CheckedServer): HealthCheck {
  let lastPingMs = 0;
  let missed = 0;
  let timer: NodeJS.Timeout | undefined;

  const ping = async ({ client, isStateless }: Connection) => {
    const startedAt = performance.now();
    const options = { timeout: mcpLimits.pingTimeoutMs };
    // The stateless revision has no ping; what it does have costs as little.
    await (isStateless ? client.discover(options) : client.ping(options));
    lastPingMs = Math.round((performance.now() - startedAt) * 100) / 100;
    missed = 0;
  };

  const schedule = (connection: Connection, delayMs: number) => {
    timer = setTimeout(async () => {
      const current = timer;
      await ping(connection).catch(() => {
        missed += 1;
      });
      if (timer !== current) return;
      // One that is at work may be too busy to answer: its callers have their own patience.
      if (missed >= mcpLimits.maxMissedPings && !server.isInUse) return server.renew("it does not answer pings");
      schedule(connection, server.environment.options.ping_interval_ms);
    }, delayMs).unref();
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
      return missed === 0 ? "" : `${missed} pings in a row were not answered`;
    },
    start(connection) {
      stop();
      if (server.environment.options.ping_interval_ms > 0) schedule(connection, 0);
    },
    stop,
  };
}
