// The metrics of a host. Calls are counted as they end; everything else is read when Prometheus asks. Labels are bounded:
// they name capabilities, types and codes of the tables, and never agents, sessions or tools.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Interceptor } from "../host/calls/interceptors.ts";
import type { A2EHost } from "../host/host.ts";
import { observeCalls } from "./call-outcome.ts";
import { durationBounds, metricNames } from "./names.ts";
import { createRegistry, type Sample } from "./registry.ts";

export interface HostMetrics {
  /** Counts the calls of the host; the host is started with it. */
  readonly interceptor: Interceptor;
  /** All metrics as Prometheus text. */
  render(host: Pick<A2EHost, "sessions">): string;
  /** Stops measuring the event loop. */
  close(): void;
}

/** A type or a code of the tables has at most 60 characters. Anything longer was made up. */
const maxLabelLength = 100;

export function createHostMetrics({ version }: { version: string }): HostMetrics {
  const registry = createRegistry();
  const { build, sessions, readers, waiting, unsent, delay, memory, cpu, started } = metricNames;
  const eventLoop = monitorEventLoopDelay({ resolution: 20 });
  eventLoop.enable();
  let scraped = readSessions([]);

  registry.gauge(...build, ["version"], () => [[[version], 1]]);
  registry.gauge(...sessions, ["status"], () => [...scraped.byStatus].map(([status, count]) => [[status], count]));
  registry.gauge(...readers, [], () => [[[], scraped.readers]]);
  registry.gauge(...waiting, [], () => [[[], scraped.inFlight]]);
  registry.gauge(...unsent, [], () => [[[], scraped.unsentBytes]]);
  const callLabels = ["capability", "type", "code"];
  const calls = registry.counter(...metricNames.calls, callLabels);
  const nested = registry.counter(...metricNames.nested, callLabels);
  const duration = registry.histogram(...metricNames.duration, ["capability"], durationBounds);
  registry.gauge(...delay, [], () => {
    const seconds = eventLoop.max / 1e9;
    eventLoop.reset();
    return single(seconds);
  });
  registry.gauge(...memory, [], () => single(process.memoryUsage.rss()));
  registry.total(...cpu, [], () => {
    const { user, system } = process.cpuUsage();
    return single((user + system) / 1e6);
  });
  registry.gauge(...started, [], () => single(performance.timeOrigin / 1e3));

  return {
    interceptor: observeCalls((call) => {
      const startedAt = performance.now();
      return {
        ended(code) {
          const values = [call.capability, call.type, code.slice(0, maxLabelLength)];
          if (call.isNested) return nested.count(values);
          calls.count(values);
          duration.observe([call.capability], (performance.now() - startedAt) / 1e3);
        },
      };
    }),
    render(host) {
      scraped = readSessions(host.sessions.list());
      return registry.render();
    },
    close: () => eventLoop.disable(),
  };
}

function single(value: number): Sample[] {
  return [[[], value]];
}

type SessionList = ReturnType<A2EHost["sessions"]["list"]>;

/** In one pass, since a host may have ten thousand sessions. Each status is there, also without a session. */
function readSessions(sessions: SessionList) {
  const byStatus = new Map<string, number>([
    ["new", 0],
    ["open", 0],
    ["closing", 0],
  ]);
  const sums = { byStatus, readers: 0, inFlight: 0, unsentBytes: 0 };
  for (const { status, readerCount, pendingCalls, unsentBytes } of sessions) {
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    sums.readers += readerCount;
    sums.inFlight += pendingCalls;
    sums.unsentBytes += unsentBytes;
  }
  return sums;
}
