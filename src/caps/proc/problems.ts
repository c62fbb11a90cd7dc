// The errors of this capability, worded in one place.
import type { A2EError } from "../../protocol/errors.ts";
import { type ProcStatus, proc } from "./protocol.ts";

export function unknownProc(proc_id: string): A2EError {
  const named = proc_id.slice(0, 64);
  const message = proc_id === "" ? "proc_id is missing: process not found" : `process "${named}" not found`;
  return proc.error("unknown_proc", message, { detail: { proc_id: named } });
}

export function procDead({ proc_id, status, state, exit_code, signal }: ProcStatus): A2EError {
  const how = signal === "" ? `exit code ${exit_code}` : signal;
  return proc.error("proc_dead", `process "${proc_id}" has ended (${status}, ${how})`, {
    detail: { proc_id, status, state, exit_code, signal },
  });
}

export function procLimit(limit: "max_procs" | "max_procs_total" | "max_detached", count: number): A2EError {
  const whose =
    limit === "max_procs" ? "of this session" : limit === "max_detached" ? "that are detached" : "of this host";
  return proc.error("proc_limit", `${count} processes ${whose} are running, which is the limit (${limit})`, {
    detail: { limit, max: count },
  });
}

export function unknownSignal(given: string | number): A2EError {
  const message = `unknown signal "${String(given).slice(0, 32)}"`;
  return proc.error("schema_violation", `signal: ${message}`, { detail: { issues: [{ path: "signal", message }] } });
}
