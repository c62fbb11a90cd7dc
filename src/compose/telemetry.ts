// Metrics and traces as the config wants them. Nothing of them is loaded for a host that uses neither.
import type { Interceptor } from "../host/calls/interceptors.ts";
import type { HostMetrics } from "../telemetry/host-metrics.ts";
import { HostStartError } from "./host-start-error.ts";
import { readVersion } from "./version.ts";

export async function openMetrics(): Promise<HostMetrics> {
  const { createHostMetrics } = await import("../telemetry/host-metrics.ts");
  return createHostMetrics({ version: readVersion() });
}

/** Rejects with a HostStartError if the optional package is not installed. */
export async function openCallSpans(): Promise<Interceptor> {
  const { createCallSpans } = await import("../telemetry/call-spans.ts");
  try {
    return createCallSpans(await import("@opentelemetry/api"), readVersion());
  } catch (cause) {
    const advice = "install it beside a2e with `npm install @opentelemetry/api`, or set telemetry.traces to false";
    throw new HostStartError(`telemetry.traces needs the package @opentelemetry/api: ${advice}`, { cause });
  }
}
