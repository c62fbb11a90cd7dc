// The processes of one session: running, ended, and records of processes that ended with an earlier host.

import type { SessionContext } from "../../plugin/plugin.ts";
import { ownerOf } from "../../plugin/principal.ts";
import { localPrefix, type SessionState } from "../../plugin/session-state.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { killMarked } from "./group/group.ts";
import { procLimits } from "./limits.ts";
import type { ManagedProcess } from "./managed-process.ts";
import { procDead, procLimit, unknownProc } from "./problems.ts";
import type { ProcStatus } from "./protocol.ts";
import type { Workshop } from "./start/workshop.ts";

/** Local, so not merged: a process belongs to the session that started it. */
const recordPrefix = `${localPrefix}proc:`;

type TableContext = Pick<SessionContext, "state" | "session" | "nextId">;

export class ProcessTable {
  readonly #workshop: Workshop;
  readonly #state: SessionState;
  /** The agent whose detached processes this session can reach; empty for an agent without a name, which has none. */
  readonly #owner: () => string;
  /** In the order of their start. */
  readonly #own = new Map<string, ManagedProcess>();
  /** Processes of which only the status is known, without output. */
  readonly #lost = new Map<string, ProcStatus>();
  /** Identifies all processes that this session ever starts. */
  readonly family: string;
  /** Whether any process ran without a sandbox: then left-over processes are searched for at the end. */
  #hasUnconfined = false;
  readonly #starting = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(workshop: Workshop, { state, session, nextId }: TableContext) {
    this.#workshop = workshop;
    this.#state = state;
    this.#owner = () => ownerOf(session.principal);
    this.family = nextId();
    for (const [key, value] of [...state.entries()]) if (key.startsWith(recordPrefix)) this.#recall(value);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** A process that was running when this was written cannot be running now: it ended with its host or session. */
  #recall(value: JsonValue): void {
    const record = value as unknown as ProcStatus;
    const wasRunning = record.status === "running";
    const status: ProcStatus = wasRunning
      ? { ...record, status: "failed", state: "crashed", error: "host_ended" }
      : record;
    this.#lost.set(record.proc_id, status);
    if (wasRunning) this.#state.set(recordPrefix + record.proc_id, status as unknown as JsonValue);
  }

  /** Reserves a place while `work` starts a process. */
  starting<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#checkRoom();
    const starting = work();
    this.#starting.add(starting);
    return starting.finally(() => this.#starting.delete(starting));
  }

  /**
   * Throws if this session may have no more processes. A process that it already holds, or that has ended, needs no
   * place.
   */
  checkRoomFor(process: ManagedProcess): void {
    if (!process.hasEnded && !this.#holds(process)) this.#checkRoom();
  }

  #checkRoom(): void {
    const { max_procs } = this.#workshop.options;
    const running = [...this.#own.values()].filter((process) => !process.hasEnded && this.#holds(process));
    if (running.length + this.#starting.size >= max_procs) throw procLimit("max_procs", max_procs);
  }

  /** Whether it would end with this session. */
  #holds(process: ManagedProcess): boolean {
    return process.holder === this && !process.isDetached;
  }

  /** Adds the process; from now on this session ends it. */
  add(process: ManagedProcess): void {
    const isNew = this.#own.get(process.id) !== process;
    process.holder = this;
    this.#own.set(process.id, process);
    this.#hasUnconfined ||= !process.isConfined;
    this.write(process);
    if (!isNew) return;
    const forget = process.onChange(() => {
      if (!process.hasEnded) return;
      forget();
      this.write(process);
      this.#forgetOldest();
    });
    this.#forgetOldest();
  }

  /** Persists the status of the process. */
  write(process: ManagedProcess): void {
    if (process.holder !== this || !this.#own.has(process.id)) return;
    this.#state.set(recordPrefix + process.id, process.status() as unknown as JsonValue);
  }

  /**
   * A process of this session, or a detached process of its agent. Throws `unknown_proc`, and `proc_dead` for a record.
   */
  get(id: string): ManagedProcess {
    const found = this.find(id);
    if (found !== undefined) return found;
    const lost = this.#lost.get(id);
    throw lost === undefined ? unknownProc(id) : procDead(lost);
  }

  /** The same, but throws `proc_dead` if it has ended. */
  getRunning(id: string): ManagedProcess {
    const process = this.get(id);
    if (process.hasEnded) throw procDead(process.status());
    return process;
  }

  find(id: string): ManagedProcess | undefined {
    return this.#own.get(id) ?? this.#workshop.detachedOf(this.#owner()).find((process) => process.id === id);
  }

  statusOf(id: string): ProcStatus | undefined {
    return this.find(id)?.status() ?? this.#lost.get(id);
  }

  all(): ProcStatus[] {
    const detached = this.#workshop.detachedOf(this.#owner()).filter(({ id }) => !this.#own.has(id));
    const live = [...this.#own.values(), ...detached].map((process) => process.status());
    const known = new Set(live.map(({ proc_id }) => proc_id));
    return [...[...this.#lost.values()].filter(({ proc_id }) => !known.has(proc_id)), ...live];
  }

  #forgetOldest(): void {
    const ended = [...this.#own.values()].filter(({ hasEnded }) => hasEnded);
    let bytes = ended.reduce((sum, { ring }) => sum + ring.keptBytes, 0);
    // The newest process keeps its output, even if it is above the limit.
    for (const process of ended.slice(0, -1)) {
      if (bytes <= procLimits.maxEndedBytes) break;
      bytes -= process.ring.keptBytes;
      this.#own.delete(process.id);
      this.#lost.set(process.id, process.status());
    }
    const known = [...this.#lost.keys(), ...ended.map(({ id }) => id).filter((id) => this.#own.has(id))];
    for (const id of known.slice(0, Math.max(0, known.length - procLimits.maxEnded))) {
      this.#lost.delete(id);
      this.#own.delete(id);
      this.#state.delete(recordPrefix + id);
    }
  }

  /** Resolves when a terminated process has ended, or cannot be ended. */
  whenTerminated(process: ManagedProcess): Promise<void> {
    return process.whenEnded(this.#workshop.options.grace_seconds * 1000 + procLimits.lingerMs);
  }

  /** Ends every process that is not detached. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const all = [...this.#own.values()].filter(({ holder }) => holder === this);
    for (const process of all) process.unfollow();
    const own = all.filter(({ isDetached }) => !isDetached);
    for (const process of all) if (process.isDetached) process.holder = undefined;
    for (const process of own) process.terminate("session_ended");
    await Promise.all(own.map((process) => this.whenTerminated(process)));
    // Processes that were still being started end themselves.
    await Promise.allSettled(this.#starting);
    if (!this.#hasUnconfined) return;
    const spared = this.#workshop.marksBeside(this);
    const prefix = this.#workshop.markOf(this.family);
    // Processes that were taken over have the mark of the session that started them.
    const held = new Set(own.map(({ mark }) => mark));
    killMarked((mark) => (mark.startsWith(prefix) || held.has(mark)) && !spared.has(mark));
  }
}
