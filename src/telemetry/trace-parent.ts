// The header `traceparent` of W3C Trace Context, level 1, as agents send it in a field of a message.
import type { SpanContext } from "@opentelemetry/api";

/** Version, trace id, span id, flags. Later versions may add fields behind the flags. */
const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Undefined if the text does not follow the standard: a trace then begins here, as the standard demands. */
export function parseTraceParent(text: unknown): SpanContext | undefined {
  if (typeof text !== "string" || text.length > 256) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = pattern.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

export function toTraceParent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}
