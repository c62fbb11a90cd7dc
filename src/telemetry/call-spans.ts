// A span of OpenTelemetry per call. The spans go to the SDK that the program of the operator has set up, for example with
// `node --import ./otel.mjs`; without an SDK they cost next to nothing. Requests and results are never in them.
import type { Context, Span, SpanOptions } from "@opentelemetry/api";
import type { InterceptedCall, Interceptor } from "../host/calls/interceptors.ts";
import { observeCalls } from "./call-outcome.ts";
import { traceNames } from "./names.ts";
import { parseTraceParent, toTraceParent } from "./trace-parent.ts";

export type OpenTelemetry = Pick<
  typeof import("@opentelemetry/api"),
  "context" | "isSpanContextValid" | "SpanKind" | "SpanStatusCode" | "trace"
>;

const names = traceNames.attributes;

/** Agents choose these names. */
const maxNameLength = 128;

export function createCallSpans(api: OpenTelemetry, version: string): Interceptor {
  const { context, trace } = api;
  const tracer = trace.getTracer(traceNames.tracer, version);
  /** The contexts of calls in flight, from which their nested calls take their parent. */
  const contexts = new WeakMap<InterceptedCall, Context>();

  return observeCalls((call: InterceptedCall) => {
    const parent = parentOf(call);
    const span = tracer.startSpan(nameOf(call), optionsOf(api, call), parent);
    const inside = trace.setSpan(parent, span);
    contexts.set(call, inside);
    // Without an SDK, spans have no ids: the trace of the agent is passed on as it came.
    if (api.isSpanContextValid(span.spanContext())) call.traceparent = toTraceParent(span.spanContext());
    return {
      // Instrumentations of HTTP clients find the span there, and send it on as `traceparent`.
      run: (next) => context.with(inside, next),
      ended: (code) => end(span, code),
    };
  });

  function parentOf(call: InterceptedCall): Context {
    const caller = call.caller === undefined ? undefined : contexts.get(call.caller);
    if (caller !== undefined) return caller;
    const remote = parseTraceParent(call.traceparent);
    // A call from the wire is not a part of whatever this process was doing.
    const root = call.isNested ? context.active() : trace.deleteSpan(context.active());
    return remote === undefined ? root : trace.setSpanContext(root, remote);
  }

  function end(span: Span, code: string): void {
    if (code !== "ok") {
      span.setAttribute(names.errorType, code);
      span.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}

function toolOf({ type, request }: InterceptedCall): string | undefined {
  const name = type === "tool/call/req" ? request.tool_name : undefined;
  return typeof name === "string" ? name.slice(0, maxNameLength) : undefined;
}

function nameOf(call: InterceptedCall): string {
  const tool = toolOf(call);
  return tool === undefined ? call.type : `${traceNames.executeTool} ${tool}`;
}

function optionsOf({ SpanKind }: OpenTelemetry, call: InterceptedCall): SpanOptions {
  const tool = toolOf(call);
  const { id: principalId, agentId } = call.session.principal;
  return {
    kind: call.isNested || tool !== undefined ? SpanKind.INTERNAL : SpanKind.SERVER,
    attributes: {
      [names.capability]: call.capability,
      [names.callType]: call.type,
      [names.isNested]: call.isNested,
      ...(principalId === "" ? {} : { [names.principalId]: principalId }),
      ...(agentId === "" ? {} : { [names.agentId]: agentId.slice(0, maxNameLength) }),
      ...(tool === undefined
        ? {}
        : { [names.operation]: traceNames.executeTool, [names.toolName]: tool, [names.toolCallId]: call.id }),
    },
  };
}
