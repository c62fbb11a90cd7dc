// The handlers of the proc capability for one session.

import { chargeSeconds } from "../../machinery/process-seconds.ts";
import type { CallContext } from "../../plugin/call-context.ts";
import type { Handlers, SessionContext } from "../../plugin/plugin.ts";
import { ownerOf } from "../../plugin/principal.ts";
import { fail } from "../../protocol/errors.ts";
import type { RequestOf } from "../../protocol/table/capability.ts";
import { isDeadly, parseSignal } from "./group/signals.ts";
import { procLimits } from "./limits.ts";
import type { ManagedProcess } from "./managed-process.ts";
import type { Audience } from "./output/feed.ts";
import { readOutput } from "./output/read-output.ts";
import { unknownSignal } from "./problems.ts";
import type { ProcessTable } from "./process-table.ts";
import { type proc, readEvent } from "./protocol.ts";
import type { Workshop } from "./start/workshop.ts";

type Calls = (typeof proc)["calls"];

/** Runs `work` outside of the call that asked for it. */
export type Outside = <Result>(work: () => Result) => Result;

interface HandlerParts {
  context: SessionContext;
  workshop: Workshop;
  table: ProcessTable;
  outside: Outside;
}

export function createHandlers({ context, workshop, table, outside }: HandlerParts): Handlers<typeof proc> {
  const audience: Audience = {
    send: (event) => context.push(readEvent, event),
    unsentBytes: context.unsentBytes,
  };
  const owner = () => ownerOf(context.session.principal);

  const follow = (process: ManagedProcess, reqId: string, cursor: number) => {
    // The answer is sent in this turn, events only after it.
    outside(() =>
      setImmediate(() => {
        if (!table.isClosed) process.follow(audience, reqId, cursor);
      }),
    );
  };

  return {
    spawn: (request, call) =>
      table.starting(async () => {
        if (request.detached) {
          if (owner() === "") return refused(namelessProblem);
          workshop.checkDetachable();
        }
        const origin = { id: context.nextId(), family: table.family, clock: context.clock };
        // Charged by the session: a process goes on after its call.
        const started = await outside(() => spawnCharged(() => workshop.spawn(request, origin), context.charge));
        if ("problem" in started) return refused(started.problem);
        if (call.isEnded || table.isClosed) {
          // The agent will not receive the id of the process.
          started.terminate("session_ended");
          await table.whenTerminated(started);
          return refused("the call has ended");
        }
        if (request.detached) detachOrEnd(started, owner(), workshop);
        table.add(started);
        if (request.events) follow(started, call.id, 0);
        const { pid, sandbox } = started.status();
        return { ok: true, proc_id: started.id, pid, sandbox };
      }),

    write: ({ proc_id, data, encoding, eof }) => {
      const process = table.getRunning(proc_id);
      const { pid } = process.child;
      const answer = { proc_id, pid };
      const { pendingInput } = process.child;
      if (pendingInput === undefined) return { ...answer, ok: false, error: "its input is closed" };
      const bytes = Buffer.from(data, encoding);
      if (encoding === "base64" && !isBase64(data, bytes))
        return { ...answer, ok: false, error: "data is not valid base64" };
      if (pendingInput > 0 && pendingInput + bytes.length > procLimits.maxPendingInputBytes)
        return {
          ...answer,
          ok: false,
          error: `it has not read ${pendingInput} bytes of its input yet; write again later`,
        };
      if (bytes.length > 0) process.child.write(bytes);
      if (eof) process.child.endInput();
      return { ...answer, ok: true, bytes: bytes.length };
    },

    kill: async ({ proc_id, signal: given }) => {
      const signal = parseSignal(given) ?? fail(unknownSignal(given));
      const process = table.getRunning(proc_id);
      const ok = process.signal(signal);
      if (isDeadly(signal)) await process.whenEnded(procLimits.killSettleMs);
      const { status, state } = process.status();
      return { ok, proc_id, status, state };
    },

    status: ({ proc_id }) => {
      if (proc_id === "") return { status: "ok", procs: table.all() };
      const status = table.statusOf(proc_id);
      if (status !== undefined) return { ...status, procs: [status] };
      return { proc_id, status: "not_found", error: `unknown_proc: process "${proc_id.slice(0, 64)}" not found` };
    },

    read: (request, call) => read(request, call, table),

    resize: ({ proc_id, cols, rows }) => {
      const { child } = table.getRunning(proc_id);
      if (child.resize === undefined)
        return { ok: false, proc_id, error: "it is not on a terminal: spawn it with pty" };
      child.resize(cols, rows);
      return { ok: true, proc_id };
    },

    detach: ({ proc_id }) => {
      const process = table.getRunning(proc_id);
      if (!workshop.options.detach)
        return { ok: false, proc_id, error: "detached processes are not allowed on this host" };
      if (owner() === "") return { ok: false, proc_id, error: namelessProblem };
      if (process.isDetached) return { ok: true, proc_id };
      workshop.detach(process, owner());
      table.write(process);
      return { ok: true, proc_id };
    },

    attach: ({ proc_id, cursor }, call) => {
      const process = table.get(proc_id);
      table.checkRoomFor(process);
      const from = Math.min(cursor ?? process.ring.end, process.ring.end);
      workshop.reclaim(process);
      table.add(process);
      follow(process, call.id, from);
      return { ok: true, proc_id, cursor: from };
    },
  };
}

const namelessProblem = "an agent without an agent_id could not find a detached process again";

function refused(error: string) {
  return { ok: false, error };
}

/** Ends a process whose budget of seconds is used up. Rejects if there is none for its first second. */
async function spawnCharged(
  spawn: () => ReturnType<Workshop["spawn"]>,
  charge: SessionContext["charge"],
): ReturnType<Workshop["spawn"]> {
  let started: Awaited<ReturnType<Workshop["spawn"]>> | undefined;
  const running = () => (started === undefined || "problem" in started ? undefined : started);
  const stopCharging = chargeSeconds(charge, () => running()?.terminate("budget_used_up"));
  try {
    started = await spawn();
    return started;
  } finally {
    const process = running();
    if (process === undefined) stopCharging();
    else void process.whenEnded().then(stopCharging);
  }
}

/** Another call may have taken the last place: a rejected spawn must not leave a running process. */
function detachOrEnd(process: ManagedProcess, owner: string, workshop: Workshop): void {
  try {
    workshop.detach(process, owner);
  } catch (error) {
    process.kill();
    throw error;
  }
}

/** Answers as soon as there is output, the process has ended, or the wait is over. */
async function read(request: RequestOf<Calls["read"]>, call: CallContext, table: ProcessTable) {
  const process = table.get(request.proc_id);
  const waitUntil = performance.now() + request.wait_ms;
  for (;;) {
    const output = readOutput(process.ring, request, process.hasEnded);
    const eof = process.hasEnded && output.next_cursor >= process.ring.endOf(request.stream);
    const leftMs = waitUntil - performance.now();
    if (output.chunks.length > 0 || output.missed > 0 || eof || leftMs <= 0 || call.isEnded) {
      const { status, state, exit_code, signal, error } = process.status();
      return { proc_id: process.id, ...output, eof, status, state, exit_code, signal, error };
    }
    await nextChange(process, leftMs, call.signal);
  }
}

function nextChange(process: ManagedProcess, withinMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      forget();
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, withinMs);
    const forget = process.onChange(finish);
    signal.addEventListener("abort", finish);
  });
}

/** Buffer.from() skips characters that are not base64, so it is compared with the result. */
function isBase64(text: string, bytes: Buffer): boolean {
  return withoutPadding(bytes.toString("base64")) === withoutPadding(text.replace(/\s+/g, ""));
}

/** Without a regular expression, which would take quadratic time. */
function withoutPadding(text: string): string {
  let end = text.length;
  while (text[end - 1] === "=") end -= 1;
  return text.slice(0, end);
}
