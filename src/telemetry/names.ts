// Every name that dashboards and queries of operators depend on: metrics, spans and their attributes. The guide
// (docs/guide/telemetry.md) lists them.

/** Each metric with its description. Durations are in seconds and sizes in bytes, as Prometheus recommends. */
export const metricNames = {
  build: ["a2e_build_info", "Version of the host; the value is always 1."],
  sessions: ["a2e_sessions", "Sessions by status."],
  readers: ["a2e_session_readers", "Streams and transports that read a session now."],
  waiting: ["a2e_calls_in_flight", "Requests of agents that are running or waiting for a slot."],
  unsent: ["a2e_unsent_bytes", "Outgoing lines that no reader has taken."],
  calls: ["a2e_calls_total", "Calls that have ended, by capability, type and code; the code of a success is ok."],
  nested: ["a2e_nested_calls_total", "Calls that handlers made and that have ended, by capability, type and code."],
  duration: ["a2e_call_duration_seconds", "Time from the start of a call of an agent to its end, by capability."],
  delay: [
    "a2e_event_loop_delay_seconds",
    "How late the event loop ran in the last interval between two scrapes, at most.",
  ],
  memory: ["process_resident_memory_bytes", "Memory of the process."],
  cpu: ["process_cpu_seconds_total", "Processor time of the process."],
  started: ["process_start_time_seconds", "When the process started, in seconds since 1970."],
} as const satisfies Record<string, readonly [name: string, help: string]>;

/** Upper limits of the buckets of durations: a tool takes from a millisecond to minutes. */
export const durationBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/**
 * Names of spans and attributes. Those with `gen_ai.` and `error.` are of the OpenTelemetry semantic conventions, as of
 * version 1.38; the conventions of GenAI may still change.
 */
export const traceNames = {
  tracer: "a2e",
  executeTool: "execute_tool",
  attributes: {
    capability: "a2e.capability",
    callType: "a2e.call.type",
    isNested: "a2e.call.nested",
    principalId: "a2e.principal.id",
    operation: "gen_ai.operation.name",
    toolName: "gen_ai.tool.name",
    toolCallId: "gen_ai.tool.call.id",
    agentId: "gen_ai.agent.id",
    errorType: "error.type",
  },
} as const;
