// Shared by all sessions of a host: starts processes, counts them, and holds the detached ones.

import type { OrphanGuard } from "../../../machinery/processes/orphan-guard.ts";
import type { PluginContext } from "../../../plugin/plugin.ts";
import type { ConfinedCommand, ProcessSandbox } from "../../../plugin/ports/sandbox.ts";
import type { Clock } from "../../../protocol/envelope.ts";
import { messageOf } from "../../../protocol/errors.ts";
import { createChildStarter } from "../child/start-child.ts";
import { unconfined } from "../child/unconfined.ts";
import { killMarked, markName } from "../group/group.ts";
import { createProcessGuard } from "../group/guard.ts";
import { procLimits } from "../limits.ts";
import { ManagedProcess } from "../managed-process.ts";
import type { ParsedProcOptions } from "../options.ts";
import { procLimit } from "../problems.ts";
import type { ProcessLimits } from "../process-options.ts";
import { Commands, shortenCommand } from "./command.ts";
import { planSpawn, type SpawnPlan, type SpawnRequest, toPolicy } from "./spawn-plan.ts";

type WorkshopContext = Pick<PluginContext, "sandboxes" | "workspaceDir">;

export interface SpawnOrigin {
  readonly id: string;
  /** Identifies the session, so that all its processes can be found. */
  readonly family: string;
  readonly clock: Clock;
}

interface Detached {
  readonly process: ManagedProcess;
  readonly owner: string;
}

const defaultPath = "/usr/local/bin:/usr/bin:/bin";

export class Workshop {
  readonly options: ParsedProcOptions;
  readonly #context: WorkshopContext;
  readonly #commands: Commands;
  readonly #env: Record<string, string>;
  readonly #guard: OrphanGuard;
  /** The marks of all processes of this host begin with it. */
  readonly #mark: string;
  readonly #limits: ProcessLimits;
  readonly #detached = new Map<string, Detached>();
  readonly #running = new Set<ManagedProcess>();
  readonly #starting = new Set<Promise<unknown>>();
  readonly #startChild = createChildStarter();
  #isClosed = false;
  /** Whether any process ran without a sandbox: then left-over processes are searched for at the end. */
  #hasUnconfined = false;
  #sandbox: ProcessSandbox | undefined;

  /** `run` is unique among all hosts on this machine. */
  constructor(options: ParsedProcOptions, context: WorkshopContext, hostEnv: NodeJS.ProcessEnv, run: string) {
    this.options = options;
    this.#context = context;
    this.#env = toEnv(options, context.workspaceDir, hostEnv);
    this.#commands = new Commands(options.allowed_commands.map(toRule), this.#env.PATH ?? defaultPath);
    this.#guard = createProcessGuard(run);
    this.#mark = `${run}-`;
    this.#limits = {
      ...procLimits,
      ringBytes: options.ring_bytes,
      maxOutputBytes: options.max_output_bytes,
      graceMs: options.grace_seconds * 1000,
      stallMs: options.stall_ms,
    };
  }

  /** A running process, or the reason why it could not be started. Throws if the host has too many. */
  async spawn(request: SpawnRequest, origin: SpawnOrigin): Promise<ManagedProcess | { problem: string }> {
    const { workspaceDir } = this.#context;
    const plan = planSpawn(request, { options: this.options, commands: this.#commands, workspaceDir, env: this.#env });
    if (plan.problem !== undefined) return plan;
    const { max_procs_total } = this.options;
    if (this.#running.size + this.#starting.size >= max_procs_total)
      throw procLimit("max_procs_total", max_procs_total);
    if (this.#isClosed) return { problem: "the host is shutting down" };
    const starting = this.#start(request, plan, origin).catch((error: unknown) => ({
      problem: messageOf(error),
    }));
    this.#starting.add(starting);
    return starting.finally(() => this.#starting.delete(starting));
  }

  async #start(request: SpawnRequest, plan: SpawnPlan, { id, family, clock }: SpawnOrigin): Promise<ManagedProcess> {
    this.#sandbox ??= await this.#context.sandboxes.process(this.options.sandbox);
    const mark = this.markOf(family) + id;
    const env = { ...plan.env, [markName]: mark, ...(request.pty ? { TERM: plan.env.TERM ?? "xterm-256color" } : {}) };
    const confinement = await this.#confine(this.#sandbox, plan, env, request.pty);
    const process = new ManagedProcess({
      id,
      cmd: shortenCommand(plan.cmd, procLimits.maxKeptCommand),
      cwd: plan.cwd,
      timeoutMs: plan.timeoutMs,
      confinement,
      sandbox: this.#sandbox.name,
      isAwaited: request.events,
      isOnTerminal: request.pty,
      mark,
      clock,
      limits: this.#limits,
      onEnded: () => {
        this.#running.delete(process);
        this.#guard.drop(process.child.pid);
        // No session is left that would end its descendants.
        if (!process.isConfined && process.holder === undefined) killMarked((one) => one === mark);
      },
    });
    this.#guard.start();
    try {
      await process.start(async (events) => {
        const { hasInput } = plan;
        const child = await this.#startChild(
          confinement,
          { ...request, hasInput, isConfined: process.isConfined },
          events,
        );
        this.#guard.add(child.pid);
        return child;
      });
    } catch (error) {
      await confinement.release().catch(() => {});
      throw error;
    }
    this.#running.add(process);
    this.#hasUnconfined ||= !process.isConfined;
    return process;
  }

  /** Confines the first candidate file that the sandbox contains. */
  async #confine(sandbox: ProcessSandbox, plan: SpawnPlan, env: Record<string, string>, isTerminal: boolean) {
    const policy = toPolicy(this.options, this.#context.workspaceDir);
    let problem: unknown;
    for (const file of plan.files) {
      try {
        const argv = [file, ...plan.args] as const;
        const command: ConfinedCommand = { argv, cwd: plan.cwd, env, isTerminal, isReported: true };
        return sandbox.name === "none" ? unconfined(command) : await sandbox.confine(command, policy);
      } catch (error) {
        problem ??= error;
      }
    }
    throw problem;
  }

  /** The prefix of the marks of all processes of a session. */
  markOf(family: string): string {
    return `${this.#mark}${family}-`;
  }

  /** Throws if the limit of detached processes is reached. */
  checkDetachable(): void {
    const { max_detached } = this.options;
    const running = [...this.#detached.values()].filter((detached) => !detached.process.hasEnded);
    if (running.length >= max_detached) throw procLimit("max_detached", max_detached);
  }

  /** Detaches a process from its session. Throws if the limit of detached processes is reached. */
  detach(process: ManagedProcess, owner: string): void {
    this.checkDetachable();
    process.isDetached = true;
    this.#detached.set(process.id, { process, owner });
    this.#forgetOldest();
  }

  /** Attaches it to a session again, which ends it from now on. */
  reclaim(process: ManagedProcess): void {
    process.isDetached = false;
    this.#detached.delete(process.id);
  }

  detachedOf(owner: string): ManagedProcess[] {
    return [...this.#detached.values()].filter((detached) => detached.owner === owner).map(({ process }) => process);
  }

  #forgetOldest(): void {
    const ended = [...this.#detached.values()].filter(({ process }) => process.hasEnded);
    for (const { process } of ended.slice(0, Math.max(0, ended.length - procLimits.maxEnded)))
      this.#detached.delete(process.id);
  }

  /** Marks of processes that continue when this session ends: those that are detached, or held by another session. */
  marksBeside(holder: object): ReadonlySet<string> {
    const others = [...this.#running].filter((process) => process.isDetached || process.holder !== holder);
    return new Set(others.map(({ mark }) => mark));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#starting);
    const left = [...this.#running];
    for (const process of left) process.kill();
    await Promise.all(left.map((process) => process.whenEnded(procLimits.lingerMs)));
    if (this.#hasUnconfined) killMarked((mark) => mark.startsWith(this.#mark));
    this.#detached.clear();
    await this.#guard.close();
  }
}

function toRule(given: ParsedProcOptions["allowed_commands"][number]) {
  return typeof given === "string" ? { command: given } : given;
}

function toEnv(options: ParsedProcOptions, workspaceDir: string, hostEnv: NodeJS.ProcessEnv): Record<string, string> {
  const inherited = options.inherit_env.flatMap((name) => {
    const value = hostEnv[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { HOME: workspaceDir, ...Object.fromEntries(inherited), ...options.env };
}
