// The runs of one session: those that requests wait for, and those that were under way when the host was last killed.
import type { CallContext } from "../../host/call-context.ts";
import type { Database } from "../../host/database.ts";
import type { SessionContext } from "../../host/plugin.ts";
import type { RequestOf, ResultInputOf, ResultOf } from "../../protocol/capability.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { chainLimits } from "./limits.ts";
import { findProblems } from "./names.ts";
import type { ParsedChainsOptions } from "./options.ts";
import type { Plan } from "./plan/plan.ts";
import type { PlanCache } from "./plan/plan-cache.ts";
import { cancelledByAgent, invalidChain, timedOut } from "./problems.ts";
import { type ChainProblem, chains } from "./protocol.ts";
import { ChainRun } from "./run/chain-run.ts";
import type { OutputStore } from "./run/output-store.ts";
import { createPhaseEmitter } from "./run/phase-emitter.ts";
import { createBackgroundPort, createRequestPort, type SessionPort } from "./run/ports.ts";
import type { RunOutcome } from "./run/run-outcome.ts";
import type { Awaitable, EmitPhase } from "./run/run-port.ts";
import {
  findUnfinished,
  keepAnswer,
  keptAnswers,
  StateJournal,
  takeAnswer,
  type UnfinishedRun,
} from "./run/state-journal.ts";

type RunRequest = RequestOf<(typeof chains.calls)["run"]>;
type RunResult = ResultInputOf<(typeof chains.calls)["run"]>;
type RunList = ResultOf<(typeof chains.calls)["list"]>["runs"];

/** What all sessions of a host share. */
export interface Shared {
  readonly options: ParsedChainsOptions;
  readonly plans: PlanCache;
  readonly database: Database;
}

interface LiveRun {
  readonly run: ChainRun;
  readonly request: RunRequest;
  readonly plan: Plan;
  readonly port: SessionPort;
  readonly answered: Promise<RunResult>;
  /** Requests that wait for it, where it was resumed. */
  followers: CallContext[];
  readonly isResumed: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** The kernel must not be the first to end a chain: it could not say what the chain had come to. */
const graceMs = 2000;
/** How often a session that is opening is looked at. */
const openingMs = 5;

export class SessionRuns {
  readonly #context: SessionContext;
  readonly #shared: Shared;
  readonly #outputs: OutputStore;
  readonly #live = new Map<string, LiveRun>();
  /** Begun by another process and not yet gone on with. */
  readonly #unfinished = new Map<string, UnfinishedRun>();
  #resuming: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(context: SessionContext, shared: Shared, outputs: OutputStore) {
    this.#context = context;
    this.#shared = shared;
    this.#outputs = outputs;
    for (const unfinished of findUnfinished(context.state)) this.#unfinished.set(unfinished.runId, unfinished);
    if (this.#unfinished.size > 0) this.#resumeWhenOpen();
  }

  run(request: RunRequest, call: CallContext): Awaitable<RunResult> {
    // The agent may be quicker than the timer that resumes.
    const unfinished = this.#unfinished.get(call.id);
    if (unfinished !== undefined) this.#resume(unfinished);
    const live = this.#live.get(call.id);
    if (live !== undefined) return this.#join(live, call);
    const kept = takeAnswer(this.#context.state, call.id);
    if (kept !== undefined) return kept as unknown as RunResult;
    const compiled = this.#shared.plans.compile(request.nodes, request.entry_node);
    const { plan } = compiled;
    const problems = findProblems(compiled, request.initial_input, this.#context, call.call);
    if (problems instanceof Promise) return problems.then((found) => this.#startChecked(request, plan, call, found));
    return this.#startChecked(request, plan, call, problems);
  }

  #startChecked(
    request: RunRequest,
    plan: Plan | undefined,
    call: CallContext,
    problems: readonly ChainProblem[],
  ): Awaitable<RunResult> {
    if (plan === undefined || problems.length > 0) return this.#refuse(request, call, problems);
    const emit = request.streaming ? createPhaseEmitter(this.#context.clock, call.startedAt, [call]) : undefined;
    const port = createRequestPort(this.#context, call, request.chain_id || call.id);
    const readHeader = () => ({ ...request, started_at: call.startedAt }) as unknown as JsonObject;
    const journal = new StateJournal(this.#context.state, this.#shared.database, call.id, readHeader);
    const run = this.#createRun(call.id, request, plan, port, journal, emit);
    const outcome = run.start();
    if (!(outcome instanceof Promise)) return this.#toResult(request, call.id, call.startedAt, outcome);
    call.setTimeout(request.timeout === 0 ? Number.MAX_SAFE_INTEGER : request.timeout * 1000 + graceMs);
    if (plan.needsSignal) call.signal.addEventListener("abort", () => run.stop(), { once: true });
    const answered = outcome.then((ended) => this.#toResult(request, call.id, call.startedAt, ended));
    return this.#watch(call.id, {
      run,
      request,
      plan,
      port,
      answered,
      followers: [],
      isResumed: false,
      timer: undefined,
    });
  }

  #refuse(request: RunRequest, call: CallContext, problems: readonly ChainProblem[]): RunResult {
    return {
      chain_id: request.chain_id || call.id,
      run_id: call.id,
      success: false,
      error: invalidChain(problems),
    };
  }

  #createRun(
    runId: string,
    request: RunRequest,
    plan: Plan,
    port: SessionPort,
    journal: StateJournal,
    emit: EmitPhase | undefined,
  ): ChainRun {
    const { max_parallel, max_items, max_inline_bytes, max_answer_bytes } = this.#shared.options;
    return new ChainRun({
      runId,
      plan,
      input: request.initial_input,
      maxParallel: Math.min(request.max_parallel || max_parallel, max_parallel),
      maxItems: max_items,
      maxInlineBytes: max_inline_bytes,
      maxAnswerBytes: max_answer_bytes,
      port,
      journal,
      outputs: this.#outputs,
      emit,
      onGone: () => this.#forget(runId),
    });
  }

  /** Looks after a run that does not end at once: its time, its place in the list, its end. */
  #watch(runId: string, live: LiveRun): Promise<RunResult> {
    const { timeout } = live.request;
    this.#live.set(runId, live);
    if (timeout > 0) live.timer = setTimeout(() => live.run.abort(timedOut(timeout)), timeout * 1000);
    live.answered.finally(() => this.#forget(runId)).catch(() => {});
    return live.answered;
  }

  #forget(runId: string): void {
    const live = this.#live.get(runId);
    if (live === undefined) return;
    clearTimeout(live.timer);
    live.port.close();
    this.#live.delete(runId);
  }

  #toResult(request: RunRequest, run_id: string, startedAt: number, outcome: RunOutcome): RunResult {
    const duration_ms = Math.max(0, Math.round(this.#context.clock.now() - startedAt));
    return { chain_id: request.chain_id || run_id, run_id, ...outcome, duration_ms };
  }

  /** Nothing may be called before the session is open, and no plugin is told when that is. */
  #resumeWhenOpen(): void {
    this.#resuming = setTimeout(() => {
      if (this.#isClosed) return;
      if (this.#context.session.granted?.has(chains.name) === false) return this.#resumeWhenOpen();
      for (const unfinished of [...this.#unfinished.values()]) this.#resume(unfinished);
    }, openingMs);
  }

  #resume(unfinished: UnfinishedRun): void {
    const { runId, header } = unfinished;
    this.#unfinished.delete(runId);
    const { state } = this.#context;
    const { started_at, ...request } = header as unknown as RunRequest & { started_at: number };
    const journal = new StateJournal(state, this.#shared.database, runId, () => header, unfinished);
    const { plan } = this.#shared.plans.compile(request.nodes, request.entry_node);
    if (plan === undefined) return journal.clear();
    this.#context.log.info("a chain goes on where it was", {
      chain: request.chain_id,
      finished: unfinished.steps.size,
    });
    const port = createBackgroundPort(this.#context, request.chain_id || runId, runId);
    const followers: CallContext[] = [];
    const emit = request.streaming ? createPhaseEmitter(this.#context.clock, started_at, followers) : undefined;
    const run = this.#createRun(runId, request, plan, port, journal, emit);
    const outcome = Promise.resolve(run.start());
    const answered = outcome.then((ended) => {
      const result = this.#toResult(request, runId, started_at, ended);
      if (followers.length === 0) keepAnswer(state, runId, result as unknown as JsonObject, chainLimits.maxKeptAnswers);
      return result;
    });
    void this.#watch(runId, { run, request, plan, port, answered, followers, isResumed: true, timer: undefined });
  }

  /** The request of a resumed run has come again: it gets the answer. */
  #join(live: LiveRun, call: CallContext): Promise<RunResult> {
    live.followers.push(call);
    call.setTimeout(live.request.timeout === 0 ? Number.MAX_SAFE_INTEGER : live.request.timeout * 1000 + graceMs);
    call.signal.addEventListener("abort", () => live.run.stop(), { once: true });
    return live.answered;
  }

  list(): RunList {
    const running: RunList = Array.from(this.#live, ([run_id, { request, run, plan, isResumed }]) => ({
      run_id,
      chain_id: request.chain_id || run_id,
      status: "running",
      nodes_run: run.nodesRun,
      nodes_total: plan.nodes.length,
      resumed: isResumed,
    }));
    const answered: RunList = Array.from(keptAnswers(this.#context.state), ([run_id, answer]) => {
      const { chain_id, nodes_run = 0 } = answer as unknown as RunResult;
      return { run_id, chain_id, status: "answered", nodes_run, nodes_total: nodes_run, resumed: true };
    });
    return [...running, ...answered];
  }

  cancel(runId: string): boolean {
    const live = this.#live.get(runId);
    if (live === undefined) return false;
    live.run.abort(cancelledByAgent());
    return true;
  }

  /** Leaves what is under way to whoever opens this state next. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#resuming);
    for (const { run } of [...this.#live.values()]) run.suspend();
  }
}
