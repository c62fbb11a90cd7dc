// The messages that every host serves, with any plugins: the kernel's own table.
import * as z from "zod";
import { type JsonObject, jsonObject, jsonValue } from "./json.ts";
import { call, capability, push } from "./table/capability.ts";

/** A negotiated capability in the answer to a handshake. */
export const acceptedCap = z.object({
  capability: z.string(),
  enabled: z.boolean().default(true),
  metadata: jsonObject.default({}),
});

export const eventKinds = ["progress", "artifact", "log", "status"] as const;
export type EventKind = (typeof eventKinds)[number];

/** The shape of all events. */
export const eventPayload = z.object({
  kind: z.string().default("status"),
  data: jsonObject.default({}),
  seq: z.int().default(0).describe("Number of the event within its call, from 1."),
});

/**
 * Event data is an object. Any other value is wrapped into an object, since some decoders drop an event without one.
 */
export function toEventData(data: unknown): JsonObject {
  const isObject = typeof data === "object" && data !== null && !Array.isArray(data);
  return (isObject ? data : { value: data ?? null }) as JsonObject;
}

/** The shape of every error. */
export const errorPayload = z.object({
  code: z.string(),
  message: z.string().default(""),
  detail: jsonObject.default({}),
  retryable: z.boolean().default(false),
  capability_name: z.string().default(""),
});

export const handshake = call("handshake/req", "handshake/resp", {
  about: { access: "none" },
  doc: "Opens a session: the agent names itself and requests capabilities; the host answers which it grants.",
  request: z.object({
    agent_id: z.string().default(""),
    agent_caps: z.array(z.string()).default([]),
    auth_token: z.string().default(""),
    audit_size: z
      .int()
      .min(0)
      .optional()
      .describe("Entries of the audit log in the checkpoint that the agent holds: asks for `audit.proof`."),
  }),
  result: z.object({
    session_id: z.string().default(""),
    accepted_caps: z.array(acceptedCap).default([]),
    max_parallel: z.int().default(4),
    ok: z.boolean().default(true),
    reason: z
      .string()
      .default("")
      .describe("auth_failed, version_mismatch, no_caps, host_full, rate_limited or server_error if ok is false."),
    audit: z
      .object({
        checkpoint: z
          .string()
          .describe("The newest checkpoint of the audit log: a signed note (c2sp.org/tlog-checkpoint)."),
        proof: z
          .array(z.string())
          .optional()
          .describe("Hashes in base64 which show that the log continues its first `audit_size` entries."),
      })
      .optional()
      .describe("Present if the audit log of the host proves itself. An extension of ours."),
  }),
  isControl: true,
  concealed: ["auth_token"],
  example: {
    request: { agent_id: "my-agent", agent_caps: ["tools"], auth_token: "" },
    result: {
      session_id: "3f2c8a52-6a52-4a7e-9a38-0f4f3a2f6b11",
      accepted_caps: [
        {
          capability: "tools",
          enabled: true,
          metadata: { name: "tools", type: "tools", priority: 0, exclusive: true },
        },
      ],
      max_parallel: 4,
      ok: true,
      reason: "",
    },
  },
});

export const ping = call("ping", "pong", {
  about: { access: "none" },
  doc: "Asks whether the host is there.",
  request: z.object({}),
  result: z.object({ uptime_seconds: z.number().default(0) }),
  isControl: true,
  example: { request: {}, result: { uptime_seconds: 12.5 } },
});

export const cancel = call("invoke/cancel/req", "invoke/cancel/resp", {
  about: { access: "none" },
  doc: "Cancels a call in flight by its id; the call itself is then answered with `cancelled`. An extension of ours.",
  request: z.object({ call_id: z.string().min(1), reason: z.string().default("") }),
  result: z.object({ cancelled: z.boolean().describe("False if no such call is in flight.") }),
  isControl: true,
  example: { request: { call_id: "5d0c9a1b7e6f4c3a8b2d1e0f9a8b7c6d" }, result: { cancelled: true } },
});

const snapshotInfo = z.object({
  snapshot_id: z.string(),
  created_at: z.number(),
  bytes: z.int(),
});

export const snapshot = call("session/snapshot/req", "session/snapshot/resp", {
  about: { access: "write" },
  doc: "Saves the state of this session across its capabilities to the snapshot store. An extension of ours.",
  request: z.object({ label: z.string().max(128).default("") }),
  result: z.object({
    ...snapshotInfo.shape,
    capabilities: z.record(z.string(), z.enum(["saved", "stateless"])),
  }),
  example: {
    request: { label: "before the risky part" },
    result: {
      snapshot_id: "00000000000000000001",
      created_at: 1789000000.5,
      bytes: 512,
      capabilities: { tools: "stateless" },
    },
  },
});

export const restore = call("session/restore/req", "session/restore/resp", {
  about: { access: "write" },
  doc: "Restores this session from one of its snapshots, by default the newest. An extension of ours.",
  request: z.object({ snapshot_id: z.string().default("") }),
  result: z.object({
    snapshot_id: z.string(),
    capabilities: z.record(z.string(), z.enum(["restored", "stateless", "damaged"])),
  }),
  example: {
    request: { snapshot_id: "00000000000000000001" },
    result: { snapshot_id: "00000000000000000001", capabilities: { tools: "stateless" } },
  },
});

const listSnapshots = call("session/snapshots/req", "session/snapshots/resp", {
  about: { access: "read" },
  doc: "Lists the snapshots of this session, newest first. An extension of ours.",
  request: z.object({}),
  result: z.object({ snapshots: z.array(z.object({ ...snapshotInfo.shape, label: z.string().default("") })) }),
  example: { request: {}, result: { snapshots: [] } },
});

export const fork = call("session/fork/req", "session/fork/resp", {
  about: { access: "write" },
  doc: "Creates a session that begins with a copy of this session's state; later changes to either do not affect the other. An extension of ours.",
  request: z.object({ label: z.string().max(128).default("") }),
  result: z.object({
    session_id: z.string().describe("Of the fork: a secret, like any session's."),
    capabilities: z
      .record(z.string(), z.enum(["copied", "overlaid", "shared", "refused"]))
      .describe("How each capability's state was copied."),
  }),
  example: {
    request: {},
    result: {
      session_id: "9b1f6a0e-2f0d-4a2b-8a5e-6f3f1f0f7c11",
      capabilities: { env: "copied", memory: "overlaid", tools: "shared" },
    },
  },
});

export const merge = call("session/merge/req", "session/merge/resp", {
  about: { access: "write" },
  doc: "Merges the changes of a fork into this session. State that both changed stays as it is here and is reported as a conflict. An extension of ours.",
  request: z.object({ session_id: z.string().min(1).describe("Of the fork; it stays open.") }),
  result: z.object({
    capabilities: z.record(z.string(), z.object({ merged: z.int(), conflicts: z.array(z.string()) })),
  }),
  example: {
    request: { session_id: "9b1f6a0e-2f0d-4a2b-8a5e-6f3f1f0f7c11" },
    result: { capabilities: { memory: { merged: 2, conflicts: ["color"] } } },
  },
});

export const replay = call("session/replay/req", "session/replay/resp", {
  about: { access: "read" },
  doc: "Runs this session again from its recording, isolated from other sessions, files and the network, and compares every line that it sends. Tools are not run: their results are recorded. An extension of ours.",
  request: z.object({}),
  result: z.object({
    messages: z.int().describe("How many lines were compared and found equal."),
    is_identical: z.boolean(),
    cut: z
      .string()
      .optional()
      .describe("Why the recording ends before its session; absent if the recording is complete."),
    divergence: z
      .object({
        message: z.int().describe("Which line of the session, from 1."),
        req_id: z.string().describe("The request that it answers; empty if it is not an answer."),
        request_type: z.string(),
        field: z.string().describe("The first field that differs; empty for the whole message."),
        expected: jsonValue.optional(),
        found: jsonValue.optional(),
        note: z.string().optional(),
      })
      .optional(),
  }),
  example: { request: {}, result: { messages: 42, is_identical: true, cut: "the session went on" } },
});

const names = z.array(z.string());
const amount = z.number().min(0);

export const token = call("session/token/req", "session/token/resp", {
  about: { access: "write" },
  doc: "Returns a token with the rights of this session's principal, restricted by the given caveats, for example for a subagent. It ends with the credential of the principal. An extension of ours.",
  request: z.object({
    capabilities: names.optional().describe("Only these capabilities; `*` stands for any characters, also below."),
    tools: names.optional(),
    namespaces: names.optional().describe("Of memory."),
    environments: names.optional(),
    budget: z
      .object({
        calls: amount.optional(),
        env_steps: amount.optional(),
        process_seconds: amount.optional(),
        tokens: amount.optional(),
        cost_usd: amount.optional(),
        bytes_stored: amount.optional(),
      })
      .optional()
      .describe("Amounts that may be used up in all."),
    depth: z.int().min(0).optional().describe("Generations of subagents that the holder may start."),
    expires_at: amount.optional().describe("Seconds since 1970."),
    audience: names.optional().describe("Names of the hosts that may accept it."),
  }),
  result: z.object({ token: z.string().describe("A secret; anyone who has it can narrow it further.") }),
  example: {
    request: { capabilities: ["tools"], tools: ["read_*"], expires_at: 1789003600 },
    result: { token: "a2e1.eyJrZXkiOiIxIn0.eyJ0b29scyI6WyJyZWFkXyoiXX0.c2lnbmF0dXJl" },
  },
});

/** `shutdown` has no answer: it is the only request-like message without a call. */
export const shutdownPayload = z.object({
  timeout: z.number().min(0).default(10).describe("Seconds that calls in flight may still take."),
});

export const shutdownReport = push("session/closed", {
  doc: "Last message of a session that was shut down: which calls were cut off. An extension of ours.",
  payload: z.object({
    reason: z.string(),
    cut_off: z.array(z.string()).default([]),
    audit: z
      .object({
        n: z.int().describe("How many audit entries the session has, since the host has started."),
        checkpoint: z.string().describe("The newest checkpoint; it may not cover the last entries yet."),
      })
      .optional()
      .describe("Present if the audit log of the host proves itself."),
  }),
  example: { reason: "shutdown", cut_off: [] },
});

export const withdrawn = push("invoke/withdrawn", {
  doc: "The host no longer waits for the answer to a question that it asked the agent. An extension of ours.",
  payload: z.object({
    ask_id: z.string().describe("The id of the question."),
    reason: z.string().default(""),
  }),
  example: { ask_id: "5d0c9a1b7e6f4c3a8b2d1e0f9a8b7c6d", reason: "the agent did not answer within 120 s" },
});

export const gap = push("session/gap", {
  doc: "Lines from `from` to `to` are no longer in the outbound log; repeat unanswered requests under their ids. An extension of ours.",
  payload: z.object({ from: z.int(), to: z.int() }),
  example: { from: 120, to: 480 },
});

export const resumed = push("session/resumed", {
  doc: "First frame on a WebSocket: the position from which the outbound log continues. An extension of ours.",
  payload: z.object({
    session_id: z.string(),
    seq: z.int().describe("The number of the line before the next line."),
    last: z
      .int()
      .default(0)
      .describe("The newest line; requests without an answer once it has arrived must be sent again."),
    boot: z
      .string()
      .optional()
      .describe(
        "The id of this run of the host; a client that reconnects sends it with the last line, as `boot` beside `from`.",
      ),
  }),
  example: { session_id: "3f2c8a52-6a52-4a7e-9a38-0f4f3a2f6b11", seq: 0, last: 0, boot: "0d6f" },
});

export const core = capability("core", {
  doc: "Handshake, life cycle, errors and events: served by every host without any plugin.",
  calls: { handshake, ping, cancel, snapshot, restore, listSnapshots, fork, merge, replay, token },
  pushes: { withdrawn, shutdownReport, gap, resumed },
});
