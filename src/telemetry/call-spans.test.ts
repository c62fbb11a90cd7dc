import * as api from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import fc from "fast-check";
import { afterAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../caps/tools/definition/define-tool.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import type { Interceptor } from "../host/calls/interceptors.ts";
import { plugin } from "../plugin/plugin.ts";
import { A2EError } from "../protocol/errors.ts";
import { call, capability } from "../protocol/table/capability.ts";
import { startHost } from "../testing/start-host.ts";
import { createCallSpans } from "./call-spans.ts";
import { parseTraceParent } from "./trace-parent.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
api.trace.setGlobalTracerProvider(provider);
beforeEach(() => exporter.reset());
afterAll(async () => {
  api.trace.disable();
  await provider.shutdown();
});

const outer = capability("outer", {
  doc: "Calls a tool.",
  calls: {
    run: call("outer/run/req", "outer/run/resp", {
      doc: "Calls the tool of this name.",
      about: { access: "write" },
      request: z.object({ tool: z.string() }),
      result: z.object({}),
      example: { request: { tool: "a" }, result: {} },
    }),
  },
});

const secret = "in-the-arguments";

function startTraced(before: Interceptor[] = [], after: Interceptor[] = []) {
  const tool = defineTool({
    name: "greet",
    description: "Greets.",
    input: z.object({ name: z.string() }),
    run: async ({ name }) => ({ greeting: `hello ${name}` }),
  });
  return startHost({
    plugins: [
      toolsPlugin({ builtin: false, tools: [tool] }),
      plugin(outer, {
        session: () => ({
          handlers: {
            async run({ tool: tool_name }, context) {
              if (tool_name === "") throw new A2EError("refused", "no tool");
              await context.call("tool/call/req", { tool_name, arguments: { name: secret } });
              return {};
            },
          },
        }),
      }),
    ],
    interceptors: [...before, createCallSpans(api, "1"), ...after],
    client: { agentId: "seven" },
  });
}

const spanNamed = (name: string) => exporter.getFinishedSpans().find((span) => span.name === name);

test("a call is a span, and the tool that its handler calls is a child of it, without arguments and results", async () => {
  await using host = await startTraced();
  await host.client.outer.run({ tool: "greet" });

  const call = spanNamed("outer/run/req");
  const tool = spanNamed("execute_tool greet");
  expect(call).toMatchObject({
    kind: api.SpanKind.SERVER,
    attributes: { "a2e.capability": "outer", "a2e.call.nested": false, "gen_ai.agent.id": "seven" },
    status: { code: api.SpanStatusCode.UNSET },
  });
  expect(call?.parentSpanContext).toBeUndefined();
  expect(tool).toMatchObject({
    kind: api.SpanKind.INTERNAL,
    parentSpanContext: { spanId: call?.spanContext().spanId, traceId: call?.spanContext().traceId },
    attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "greet" },
  });
  const everything = exporter.getFinishedSpans().map(({ name, attributes, events }) => ({ name, attributes, events }));
  expect(JSON.stringify(everything)).not.toContain(secret);
  expect(JSON.stringify(everything)).not.toContain(host.host.sessions.list()[0]?.id);
});

test("a call that fails is a span with its error code", async () => {
  await using host = await startTraced();
  await expect(host.client.outer.run({ tool: "" })).rejects.toThrow();
  expect(spanNamed("outer/run/req")).toMatchObject({
    attributes: { "error.type": "refused" },
    status: { code: api.SpanStatusCode.ERROR },
  });
});

test("the traceparent of a message becomes the parent of its span, and the handler gets that of the span", async () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const seen: (string | undefined)[] = [];
  const last: Interceptor = (next) => (call) => {
    seen.push(call.traceparent);
    return next(call);
  };
  await using host = await startTraced([], [last]);
  await host.client.outer.run({ tool: "greet" }, { traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  const span = spanNamed("outer/run/req");
  expect(span).toMatchObject({ parentSpanContext: { traceId, spanId: "b7ad6b7169203331", isRemote: true } });
  expect(seen).toContain(`00-${traceId}-${span?.spanContext().spanId}-01`);
});

test.each([
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", 1],
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", 0],
  ["cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what-the-future-brings", 1],
])("%s is a traceparent with the flags %i", (text, traceFlags) => {
  expect(parseTraceParent(text)).toEqual({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    traceFlags,
    isRemote: true,
  });
});

test.each([
  undefined,
  7,
  {},
  "",
  "00-00000000000000000000000000000000-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
  "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
  "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
])("%j is not a traceparent", (text) => {
  expect(parseTraceParent(text)).toBeUndefined();
});

test("no text makes the parser of traceparents throw", () => {
  fc.assert(fc.property(fc.anything(), (value) => void parseTraceParent(value)));
});
