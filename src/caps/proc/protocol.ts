// The table of processes. An answer contains the status in the words of both dialects.
import * as z from "zod";
import { call, capability, push } from "../../protocol/table/capability.ts";

/** The limits of messages; src/caps/proc/limits.ts has the limits of the host. */
const messageLimits = {
  /** Arguments of a command, including its name. */
  maxArguments: 4096,
  /** Bytes that one read returns, before conversion to text. */
  maxReadBytes: 1024 * 1024,
  /** How long one read waits for output. */
  maxReadWaitMs: 60_000,
  /** Columns and rows of a terminal. */
  maxTerminalSide: 1000,
} as const satisfies Record<string, number>;

/** The SDK's words; `timeout` is a process that timed out. */
const statusWords = "running, completed, failed, killed, timeout, not_found";
/** The documentation's words. */
const stateWords = "running, stopped, crashed, timedout";

const id = z.string().max(256);
const streams = ["stdout", "stderr"] as const;
export type StreamName = (typeof streams)[number];

const statusFields = {
  proc_id: z.string().default(""),
  status: z.string().describe(`${statusWords}.`),
  state: z.string().default("").describe(`${stateWords}; empty for an unknown process, and in an answer about all.`),
  error: z.string().default("").describe("Why the host or a limit ended it; empty otherwise."),
  cmd: z.array(z.string()).default([]),
  cwd: z.string().default(""),
  pid: z.int().default(0),
  exit_code: z.int().nullable().default(null).describe("Null while it runs, and if a signal ended it."),
  signal: z.string().default("").describe("The signal that ended it; empty if none did."),
  started_at: z.number().default(0),
  ended_at: z.number().nullable().default(null),
  stdout_bytes: z.int().default(0).describe("Bytes written so far."),
  stderr_bytes: z.int().default(0).describe("Bytes written so far."),
  detached: z.boolean().default(false).describe("Continues after its session."),
  sandbox: z.string().default("").describe("The sandbox that confines it."),
};

const procStatus = z.object(statusFields);
export type ProcStatus = z.output<typeof procStatus>;

const outputChunk = z.object({
  stream_type: z.enum(streams),
  offset: z.int().describe("The offset of its first byte in its own stream."),
  bytes: z.int(),
  text: z.string().default("").describe("UTF-8, never cut inside a character."),
  base64: z.string().optional().describe("Instead of `text`, if the bytes are not UTF-8."),
});

const signalName = z
  .union([z.string().max(32), z.int()])
  .describe("A POSIX signal by name, with or without SIG, or by number.");

const spawnResult = {
  proc_id: z.string().default(""),
  ok: z.boolean(),
  pid: z.int().default(0),
  error: z.string().default("").describe("The reason, if `ok` is false."),
};

const exampleId = "9c1d7f40b2a34e0f8a6b5c4d3e2f1a0b";
const exampleStatus = {
  proc_id: exampleId,
  status: "completed",
  state: "stopped",
  cmd: ["echo", "hello"],
  cwd: "/workspace",
  pid: 4711,
  exit_code: 0,
  started_at: 1789000000.5,
  ended_at: 1789000000.6,
  stdout_bytes: 6,
  sandbox: "bubblewrap",
};

export const readEvent = push("proc/read/event", {
  doc: "Output of a process, and finally its end. `req_id` is the id of the spawn request, whose answer always comes first.",
  payload: z.object({
    kind: z.string().default("status").describe("`log` for output, `status` for the end and for a gap."),
    req_id: z.string().default(""),
    seq: z.int().default(0).describe("The number of the event of this process, from 1."),
    proc_id: z.string().default(""),
    stream_type: z
      .string()
      .default("stdout")
      .describe(
        "stdout or stderr; the end comes on stdout after code 0, on `killed` after a signal, on stderr otherwise.",
      ),
    data: z
      .looseObject({
        text: z.string().optional().describe("Output as UTF-8, never cut inside a character."),
        base64: z.string().optional().describe("Output that is not UTF-8."),
        offset: z.int().optional().describe("The offset of the first byte in its own stream."),
        code: z.int().optional().describe("The end: the exit code, or the number of the signal below 0."),
        exit_code: z.int().nullable().optional(),
        signal: z.string().optional(),
        status: z.string().optional(),
        state: z.string().optional(),
        error: z
          .string()
          .optional()
          .describe(
            "The end: timeout, out_of_memory, workspace_limit, sandbox_crash, …; empty if the process ended by itself.",
          ),
        gap: z
          .object({ from: z.int(), to: z.int() })
          .optional()
          .describe("Offsets in the whole output that were overwritten before this agent received them."),
      })
      .default({}),
  }),
  example: {
    kind: "log",
    req_id: "5d0c9a1b7e6f4c3a8b2d1e0f9a8b7c6d",
    seq: 1,
    proc_id: exampleId,
    stream_type: "stdout",
    data: { text: "hello\n", offset: 0 },
  },
});

export const proc = capability("proc", {
  doc: "Processes: programs of the machine, started by their arguments and never through a shell, each in a sandbox.",
  spellings: ["procs"],
  event: "proc/read/event",
  errors: {
    unknown_proc: { retryable: false, doc: "This session has no process with that id." },
    proc_dead: { retryable: false, doc: "The process has ended; see `detail`." },
    proc_limit: { retryable: true, doc: "This session or this host already runs as many processes as allowed." },
  },
  resources: { proc: "A program, by its name or path: the first item of the command." },
  calls: {
    spawn: call("proc/spawn/req", "proc/spawn/resp", {
      about: { access: "write", resource: "proc", from: "cmd.0", isPath: true },
      doc: "Starts a program. Its output is sent as `proc/read/event` after the answer. If it cannot be started, `ok` is false and `error` is the reason.",
      request: z.object({
        session_id: z
          .string()
          .default("")
          .describe("Sent by some peers and ignored: the session of the request is used."),
        cmd: z
          .union([z.array(z.string()).max(messageLimits.maxArguments), z.string()])
          .default([])
          .describe("The program and its arguments, as a list. A command line for a shell is rejected."),
        cwd: z.string().default("").describe("Relative to the workspace, which is the default."),
        env: z
          .record(z.string(), z.string())
          .default({})
          .describe("Added to the few variables that the host passes on."),
        stdin_mode: z.string().default("pipe").describe("`pipe`, or `null` for a program that gets no input."),
        timeout: z.number().min(0).default(0).describe("Seconds; 0 for the default of the host."),
        pty: z
          .boolean()
          .default(false)
          .describe("Runs it on a terminal of its own; then all output comes on stdout. An extension of ours."),
        cols: z
          .int()
          .min(1)
          .max(messageLimits.maxTerminalSide)
          .default(80)
          .describe("Columns of the terminal. An extension of ours."),
        rows: z
          .int()
          .min(1)
          .max(messageLimits.maxTerminalSide)
          .default(24)
          .describe("Rows of the terminal. An extension of ours."),
        detached: z
          .boolean()
          .default(false)
          .describe("Continues after its session, but never after its host. An extension of ours."),
        events: z
          .boolean()
          .default(true)
          .describe("False if the agent reads only with `proc/read/req`. An extension of ours."),
      }),
      result: z.object({ ...spawnResult, sandbox: z.string().default("").describe("The sandbox that confines it.") }),
      example: {
        request: { cmd: ["echo", "hello"], timeout: 30 },
        result: { proc_id: exampleId, ok: true, pid: 4711, sandbox: "bubblewrap" },
      },
    }),
    write: call("proc/write/req", "proc/write/resp", {
      about: { access: "write", resource: "proc", instance: "proc_id" },
      doc: "Writes to the standard input of a process, or closes it.",
      request: z.object({
        proc_id: id.default(""),
        data: z.string().default(""),
        encoding: z.enum(["utf8", "base64"]).default("utf8").describe("The encoding of `data`. An extension of ours."),
        eof: z.boolean().default(false).describe("Closes the input after `data`."),
      }),
      result: z.object({ ...spawnResult, bytes: z.int().default(0).describe("Bytes of `data` that were accepted.") }),
      mirrors: { success: "ok" },
      example: {
        request: { proc_id: exampleId, data: "yes\n", eof: true },
        result: { proc_id: exampleId, ok: true, pid: 4711, bytes: 4 },
      },
    }),
    kill: call("proc/kill/req", "proc/kill/resp", {
      about: { access: "write", resource: "proc", instance: "proc_id" },
      doc: "Sends a signal to all processes of the group. After a signal that ends processes, the answer waits a moment, so that `state` usually shows the end.",
      aliases: { "proc/signal": "proc/signal/resp", "proc/signal/req": "proc/signal/resp" },
      request: z.object({ proc_id: id.default(""), signal: signalName.default("SIGTERM") }),
      result: z.object({
        ok: z.boolean(),
        state: z.string().describe(`${stateWords}.`),
        proc_id: z.string().default(""),
        status: z.string().default("").describe(`${statusWords}.`),
      }),
      mirrors: { success: "ok" },
      // Reads that wait must not prevent an agent from ending the process that they wait for.
      isControl: true,
      example: {
        request: { proc_id: exampleId, signal: "SIGTERM" },
        result: { ok: true, state: "stopped", proc_id: exampleId, status: "killed" },
      },
    }),
    status: call("proc/status/req", "proc/status/resp", {
      about: { access: "read", resource: "proc", instance: "proc_id" },
      doc: "Returns the status of a process, also after its end; without `proc_id`, of all processes of this session.",
      request: z.object({ proc_id: id.default("") }),
      result: z.object({
        ...statusFields,
        status: z.string().describe(`${statusWords}; ok if all were requested, each with its own in \`procs\`.`),
        procs: z.array(procStatus).default([]),
      }),
      example: { request: { proc_id: exampleId }, result: { ...exampleStatus, procs: [exampleStatus] } },
    }),
    read: call("proc/read/req", "proc/read/resp", {
      about: { access: "read", resource: "proc", instance: "proc_id" },
      doc: "Reads output from a byte offset that only ever grows: a disconnect loses nothing, or `missed` reports how much. An extension of ours.",
      aliases: { "proc/read": "proc/read/resp" },
      request: z.object({
        proc_id: id.default(""),
        stream: z
          .enum(["all", ...streams])
          .default("all")
          .describe("Offsets count the bytes of this stream; with `all`, those of both in the order of their arrival."),
        cursor: z.int().min(0).default(0).describe("`next_cursor` of the last answer; 0 for the beginning."),
        max_bytes: z
          .int()
          .min(1)
          .max(messageLimits.maxReadBytes)
          .default(64 * 1024),
        wait_ms: z
          .int()
          .min(0)
          .max(messageLimits.maxReadWaitMs)
          .default(0)
          .describe("How long to wait if there is no output yet."),
      }),
      result: z.object({
        proc_id: z.string(),
        chunks: z.array(outputChunk),
        next_cursor: z.int(),
        missed: z
          .int()
          .default(0)
          .describe("Bytes after the cursor that are no longer kept; reading continues after them."),
        eof: z.boolean().describe("No more output will come."),
        status: z.string().describe(`${statusWords}.`),
        state: z.string().describe(`${stateWords}.`),
        exit_code: z.int().nullable().default(null),
        signal: z.string().default(""),
        error: z.string().default(""),
      }),
      example: {
        request: { proc_id: exampleId, cursor: 0 },
        result: {
          proc_id: exampleId,
          chunks: [{ stream_type: "stdout", offset: 0, bytes: 6, text: "hello\n" }],
          next_cursor: 6,
          eof: true,
          status: "completed",
          state: "stopped",
          exit_code: 0,
        },
      },
    }),
    resize: call("proc/resize/req", "proc/resize/resp", {
      about: { access: "write", resource: "proc", instance: "proc_id" },
      doc: "Resizes the terminal of a process. An extension of ours.",
      request: z.object({
        proc_id: id.default(""),
        cols: z.int().min(1).max(messageLimits.maxTerminalSide),
        rows: z.int().min(1).max(messageLimits.maxTerminalSide),
      }),
      result: z.object({ ok: z.boolean(), proc_id: z.string().default(""), error: z.string().default("") }),
      example: {
        request: { proc_id: exampleId, cols: 120, rows: 40 },
        result: { ok: true, proc_id: exampleId },
      },
    }),
    detach: call("proc/detach/req", "proc/detach/resp", {
      about: { access: "write", resource: "proc", instance: "proc_id" },
      doc: "Lets a process continue when its session ends. All sessions of its agent can reach it, and it ends with the host. An extension of ours.",
      request: z.object({ proc_id: id.default("") }),
      result: z.object({ ok: z.boolean(), proc_id: z.string().default(""), error: z.string().default("") }),
      example: { request: { proc_id: exampleId }, result: { ok: true, proc_id: exampleId } },
    }),
    attach: call("proc/attach/req", "proc/attach/resp", {
      about: { access: "write", resource: "proc", instance: "proc_id" },
      doc: "Attaches a detached process of this agent to this session: its output from the cursor on is sent as events with the id of this request. An extension of ours.",
      request: z.object({
        proc_id: id.default(""),
        cursor: z.int().min(0).optional().describe("Offset in the whole output; by default its current end."),
      }),
      result: z.object({ ok: z.boolean(), proc_id: z.string().default(""), cursor: z.int().default(0) }),
      example: { request: { proc_id: exampleId, cursor: 6 }, result: { ok: true, proc_id: exampleId, cursor: 6 } },
    }),
  },
  pushes: { read: readEvent },
});
