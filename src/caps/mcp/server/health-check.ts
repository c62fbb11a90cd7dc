// Whether a server still answers, and how fast.
import type { BridgeEnvironment } from "../environment.ts";
import { mcpLimits } from "../limits.ts";
import type { Connection } from "./connection.ts";

interface CheckedServer {
  readonly environment: BridgeEnvironment;
  readonly isInUse: boolean;
  /** True where a failure is something that the server said. */
  isAnswer(cause: unknown): boolean;
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

  /** False where there was no answer. A server that says that it knows no pings has answered. */
  const ping = async ({ client, isStateless }: Connection): Promise<boolean> => {
    const startedAt = performance.now();
    const options = { timeout: server.environment.options.ping_timeout_ms };
    try {
      // The stateless revision has no ping; what it does have costs as little.
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
      // One that is at work may be too busy to answer: its callers have their own patience.
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
      return missed === 0 ? "" : `${missed} pings in a row were not answered`;
    },
    start(connection) {
      stop();
      if (server.environment.options.ping_interval_ms > 0) schedule(connection, 0);
    },
    stop,
  };
}
