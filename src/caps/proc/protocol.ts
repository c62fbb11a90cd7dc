// The table of processes. What peers of either dialect read of a status is in one answer.
import * as z from "zod";
import { call, capability, push } from "../../protocol/capability.ts";

/** What a message may hold; the other limits of this capability are the host's. */
const messageLimits = {
  /** Arguments of a command, its name included. */
  maxArguments: 4096,
  /** Bytes that one read returns, before they are made text. */
  maxReadBytes: 1024 * 1024,
  /** How long one read waits for output. */
  maxReadWaitMs: 60_000,
  /** Columns and rows of a terminal. */
  maxTerminalSide: 1000,
} as const satisfies Record<string, number>;

/** As the SDK names them; `timeout` is the word for a process whose time was over. */
const statusWords = "running, completed, failed, killed, timeout, not_found";
/** As the documentation names them. */
const stateWords = "running, stopped, crashed, timedout";

const id = z.string().max(256);
const streams = ["stdout", "stderr"] as const;
export type StreamName = (typeof streams)[number];

const statusFields = {
  proc_id: z.string().default(""),
  status: z.string().describe(`${statusWords}.`),
  state: z.string().default("").describe(`${stateWords}; empty for a process that is not known, and for all.`),
  error: z.string().default("").describe("Why it ended, where that was not its own doing; empty otherwise."),
  cmd: z.array(z.string()).default([]),
  cwd: z.string().default(""),
  pid: z.int().default(0),
  exit_code: z.int().nullable().default(null).describe("Null while it runs, and where a signal ended it."),
  signal: z.string().default("").describe("The signal that ended it; empty where none did."),
  started_at: z.number().default(0),
  ended_at: z.number().nullable().default(null),
  stdout_bytes: z.int().default(0).describe("Written so far."),
  stderr_bytes: z.int().default(0).describe("Written so far."),
  detached: z.boolean().default(false).describe("Goes on after its session."),
  sandbox: z.string().default("").describe("What confines it."),
};

const procStatus = z.object(statusFields);
export type ProcStatus = z.output<typeof procStatus>;

const outputChunk = z.object({
  stream_type: z.enum(streams),
  offset: z.int().describe("Of its first byte, in its own stream."),
  bytes: z.int(),
  text: z.string().default("").describe("UTF-8, never cut inside a character."),
  base64: z.string().optional().describe("In place of `text` where the bytes are no UTF-8."),
});

const signalName = z
  .union([z.string().max(32), z.int()])
  .describe("A POSIX signal by name, with or without SIG, or by number.");

const spawnResult = {
  proc_id: z.string().default(""),
  ok: z.boolean(),
  pid: z.int().default(0),
  error: z.string().default("").describe("What is wrong, where `ok` is false."),
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
  doc: "What a process wrote, and in the end how it ended. `req_id` is that of the spawn, whose answer always comes first.",
  payload: z.object({
    kind: z.string().default("status").describe("`log` for output, `status` for the end and for a gap."),
    req_id: z.string().default(""),
    seq: z.int().default(0).describe("Counts the events of one process, from 1."),
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
        base64: z.string().optional().describe("Output that is no UTF-8."),
        offset: z.int().optional().describe("Of the first byte of the output, in its own stream."),
        code: z.int().optional().describe("The end: the exit code, or the number of the signal below 0."),
        exit_code: z.int().nullable().optional(),
        signal: z.string().optional(),
        status: z.string().optional(),
        state: z.string().optional(),
        error: z
          .string()
          .optional()
          .describe("The end: timeout, out_of_memory, workspace_limit, sandbox_crash, … or nothing."),
        gap: z
          .object({ from: z.int(), to: z.int() })
          .optional()
          .describe("Offsets in all of the output that were written over before this agent took them."),
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
    unknown_proc: { retryable: false, doc: "This session has no process of that id." },
    proc_dead: { retryable: false, doc: "The process has ended; `detail` says how." },
    proc_limit: { retryable: true, doc: "As many processes run as this session, or this host, may have at once." },
  },
  calls: {
    spawn: call("proc/spawn/req", "proc/spawn/resp", {
      doc: "Starts a program. What it writes comes as `proc/read/event` after the answer. Where it cannot be started, `ok` is false and `error` says why.",
      request: z.object({
        session_id: z.string().default("").describe("Sent by some peers; the session is the one that asks."),
        cmd: z
          .union([z.array(z.string()).max(messageLimits.maxArguments), z.string()])
          .default([])
          .describe("The program and its arguments, as a list. A line for a shell is refused."),
        cwd: z.string().default("").describe("Relative to the workspace, which it is where left out."),
        env: z
          .record(z.string(), z.string())
          .default({})
          .describe("Added to the few variables that the host hands on."),
        stdin_mode: z.string().default("pipe").describe("`pipe`, or `null` for a program that gets no input."),
        timeout: z.number().min(0).default(0).describe("Seconds; 0 is the host's own limit."),
        pty: z.boolean().default(false).describe("On a terminal of its own; everything then comes on stdout. Ours."),
        cols: z.int().min(1).max(messageLimits.maxTerminalSide).default(80).describe("Of the terminal. Ours."),
        rows: z.int().min(1).max(messageLimits.maxTerminalSide).default(24).describe("Of the terminal. Ours."),
        detached: z.boolean().default(false).describe("Goes on after its session, but never after its host. Ours."),
        events: z.boolean().default(true).describe("False for who reads by `proc/read/req` alone. Ours."),
      }),
      result: z.object({ ...spawnResult, sandbox: z.string().default("").describe("What confines it.") }),
      example: {
        request: { cmd: ["echo", "hello"], timeout: 30 },
        result: { proc_id: exampleId, ok: true, pid: 4711, sandbox: "bubblewrap" },
      },
    }),
    write: call("proc/write/req", "proc/write/resp", {
      doc: "Writes to the standard input of a process, or closes it.",
      request: z.object({
        proc_id: id.default(""),
        data: z.string().default(""),
        encoding: z.enum(["utf8", "base64"]).default("utf8").describe("Of `data`. Ours."),
        eof: z.boolean().default(false).describe("Closes the input after `data`."),
      }),
      result: z.object({ ...spawnResult, bytes: z.int().default(0).describe("Taken from `data`.") }),
      mirrors: { success: "ok" },
      example: {
        request: { proc_id: exampleId, data: "yes\n", eof: true },
        result: { proc_id: exampleId, ok: true, pid: 4711, bytes: 4 },
      },
    }),
    kill: call("proc/kill/req", "proc/kill/resp", {
      doc: "Sends a signal to all processes of the group. Those that ask for an end are waited for a moment, so that `state` mostly says what became of it.",
      aliases: { "proc/signal": "proc/signal/resp", "proc/signal/req": "proc/signal/resp" },
      request: z.object({ proc_id: id.default(""), signal: signalName.default("SIGTERM") }),
      result: z.object({
        ok: z.boolean(),
        state: z.string().describe(`${stateWords}.`),
        proc_id: z.string().default(""),
        status: z.string().default("").describe(`${statusWords}.`),
      }),
      mirrors: { success: "ok" },
      // Reads that wait must not keep an agent from ending what they wait for.
      isControl: true,
      example: {
        request: { proc_id: exampleId, signal: "SIGTERM" },
        result: { ok: true, state: "stopped", proc_id: exampleId, status: "killed" },
      },
    }),
    status: call("proc/status/req", "proc/status/resp", {
      doc: "Says how a process does, also after its end; without `proc_id`, how all of this session do.",
      request: z.object({ proc_id: id.default("") }),
      result: z.object({
        ...statusFields,
        status: z.string().describe(`${statusWords}; ok where it was asked for all, each with its own in \`procs\`.`),
        procs: z.array(procStatus).default([]),
      }),
      example: { request: { proc_id: exampleId }, result: { ...exampleStatus, procs: [exampleStatus] } },
    }),
    read: call("proc/read/req", "proc/read/resp", {
      doc: "Reads output from a byte offset that only ever grows: nothing is lost by a disconnect, or it is said what was. An extension of ours.",
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
          .describe("How long to wait where there is nothing yet."),
      }),
      result: z.object({
        proc_id: z.string(),
        chunks: z.array(outputChunk),
        next_cursor: z.int(),
        missed: z
          .int()
          .default(0)
          .describe("Bytes after the cursor that are no longer kept; reading goes on behind them."),
        eof: z.boolean().describe("Nothing more will come."),
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
      doc: "Gives the terminal of a process another size. An extension of ours.",
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
      doc: "Lets a process go on when its session ends. It stays in reach of all sessions of its agent, and ends with the host. An extension of ours.",
      request: z.object({ proc_id: id.default("") }),
      result: z.object({ ok: z.boolean(), proc_id: z.string().default(""), error: z.string().default("") }),
      example: { request: { proc_id: exampleId }, result: { ok: true, proc_id: exampleId } },
    }),
    attach: call("proc/attach/req", "proc/attach/resp", {
      doc: "Makes a detached process of this agent one of this session: what it writes from the cursor on comes as events with the id of this request. An extension of ours.",
      request: z.object({
        proc_id: id.default(""),
        cursor: z.int().min(0).optional().describe("Offset in all of its output; where it is now, if left out."),
      }),
      result: z.object({ ok: z.boolean(), proc_id: z.string().default(""), cursor: z.int().default(0) }),
      example: { request: { proc_id: exampleId, cursor: 6 }, result: { ok: true, proc_id: exampleId, cursor: 6 } },
    }),
  },
  pushes: { read: readEvent },
});
