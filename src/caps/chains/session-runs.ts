// The runs of one session: those that requests wait for, and those that were in progress when the host was last killed.
import type { CallContext } from "../../plugin/call-context.ts";
import { CheckedResult } from "../../plugin/checked-result.ts";
import type { SessionContext } from "../../plugin/plugin.ts";
import type { Database } from "../../plugin/ports/database.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { ResultOf } from "../../protocol/table/capability.ts";
import { chainLimits } from "./limits.ts";
import { type EndedResult, LiveRun, type RunRequest, type RunResult } from "./live-run.ts";
import { findProblems } from "./names.ts";
import type { ParsedChainsOptions } from "./options.ts";
import type { Plan } from "./plan/plan.ts";
import type { PlanCache } from "./plan/plan-cache.ts";
import { cancelledByAgent, invalidChain } from "./problems.ts";
import { type ChainProblem, chains } from "./protocol.ts";
import { ChainRun } from "./run/chain-run.ts";
import { Followers } from "./run/followers.ts";
import type { OutputStore } from "./run/output-store.ts";
import { createPhaseEmitter } from "./run/phase-emitter.ts";

import type { RunOutcome } from "./run/run-outcome.ts";
import type { Awaitable, EmitPhase } from "./run/run-port.ts";
import { SessionPort } from "./run/session-port.ts";
import {
  findUnfinished,
  forgetRuns,
  keepAnswer,
  keptAnswers,
  StateJournal,
  takeAnswer,
  type UnfinishedRun,
} from "./run/state-journal.ts";

type RunList = ResultOf<(typeof chains.calls)["list"]>["runs"];

/** Shared by all sessions of a host. */
export interface Shared {
  readonly options: ParsedChainsOptions;
  readonly plans: PlanCache;
  readonly database: Database;
}

export class SessionRuns {
  readonly #context: SessionContext;
  readonly #shared: Shared;
  readonly #outputs: OutputStore;
  readonly #live = new Map<string, LiveRun>();
  /** Started by another process and not resumed yet. */
  readonly #unfinished = new Map<string, UnfinishedRun>();

  constructor(context: SessionContext, shared: Shared, outputs: OutputStore) {
    this.#context = context;
    this.#shared = shared;
    this.#outputs = outputs;
    // A session that is already open is being restored to a snapshot: its requests have their answers.
    if (context.session.granted?.has(chains.name) === true) forgetRuns(context.state);
    for (const unfinished of findUnfinished(context.state)) this.#unfinished.set(unfinished.runId, unfinished);
  }

  /** Whether the records and outputs of the run are still needed. */
  isUnderWay(runId: string): boolean {
    return this.#live.has(runId) || this.#unfinished.has(runId);
  }

  run(request: RunRequest, call: CallContext): Awaitable<RunResult | CheckedResult<EndedResult>> {
    const live = this.#live.get(call.id);
    if (live !== undefined) return live.join(call);
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
  ): Awaitable<RunResult | CheckedResult<EndedResult>> {
    const { id: runId, startedAt } = call;
    if (plan === undefined || problems.length > 0)
      return { chain_id: request.chain_id || runId, run_id: runId, success: false, error: invalidChain(problems) };
    const followers = new Followers(call);
    const emit = request.streaming ? createPhaseEmitter(this.#context.clock, startedAt, followers) : undefined;
    const port = new SessionPort(this.#context, request.chain_id || runId, runId, call);
    const readHeader = () => ({ ...request, started_at: startedAt }) as unknown as JsonObject;
    const journal = new StateJournal(this.#context.state, this.#shared.database, runId, readHeader);
    const run = this.#createRun(runId, request, plan, port, journal, emit);
    const outcome = run.start();
    if (!(outcome instanceof Promise)) {
      const result = this.#toResult(request, runId, startedAt, outcome);
      return outcome.isOwn ? new CheckedResult(result) : result;
    }
    const answered = outcome.then((ended) => this.#toResult(request, runId, startedAt, ended));
    // The run was cancelled by one of its own first calls, so the abort signal will not fire again.
    if (call.isEnded) {
      run.stop();
      return answered;
    }
    if (plan.needsSignal) call.signal.addEventListener("abort", () => run.stop(), { once: true });
    const live = new LiveRun({ run, request, plan, port, journal, followers, answered, isResumed: false });
    live.allowTime(call);
    return this.#watch(runId, live);
  }

  #createRun(
    runId: string,
    request: RunRequest,
    plan: Plan,
    port: SessionPort,
    journal: StateJournal,
    emit: EmitPhase | undefined,
  ): ChainRun {
    const { max_parallel, max_items, max_run_items, max_inline_bytes, max_answer_bytes } = this.#shared.options;
    return new ChainRun({
      runId,
      plan,
      input: request.initial_input,
      maxParallel: Math.min(request.max_parallel || max_parallel, max_parallel),
      maxItems: max_items,
      maxRunItems: max_run_items,
      maxInlineBytes: max_inline_bytes,
      maxAnswerBytes: max_answer_bytes,
      port,
      journal,
      outputs: this.#outputs,
      emit,
      onGone: () => this.#forget(runId),
    });
  }

  #watch(runId: string, live: LiveRun): Promise<RunResult> {
    this.#live.set(runId, live);
    live.answered.finally(() => this.#forget(runId)).catch(() => {});
    return live.answered;
  }

  #forget(runId: string): void {
    this.#live.get(runId)?.release();
    this.#live.delete(runId);
  }

  #toResult(request: RunRequest, run_id: string, startedAt: number, outcome: RunOutcome): EndedResult {
    const duration_ms = Math.max(0, Math.round(this.#context.clock.now() - startedAt));
    const { success, outputs, final_output, nodes_run, error, failed, skipped, errors } = outcome;
    const chain_id = request.chain_id || run_id;
    return { chain_id, run_id, success, outputs, final_output, duration_ms, nodes_run, error, failed, skipped, errors };
  }

  /** Resumes the runs of an earlier process, once the session is open. */
  resume(): void {
    for (const unfinished of [...this.#unfinished.values()]) this.#resume(unfinished);
  }

  /**
   * Never throws: no request waits for it, and a run that cannot be resumed must not prevent its session from opening.
   */
  #resume(unfinished: UnfinishedRun): void {
    const { runId, header } = unfinished;
    const { state, log } = this.#context;
    this.#unfinished.delete(runId);
    const journal = new StateJournal(state, this.#shared.database, runId, () => header, unfinished);
    try {
      this.#goOn(unfinished, journal);
    } catch (error) {
      log.error("a chain cannot be resumed and is dropped", { run: runId, error });
      journal.clear();
    }
  }

  #goOn({ runId, header, steps }: UnfinishedRun, journal: StateJournal): void {
    const { state, log, clock } = this.#context;
    const { started_at, ...request } = header as unknown as RunRequest & { started_at: number };
    const { plan } = this.#shared.plans.compile(request.nodes, request.entry_node);
    // The host allows less than before: the request is rejected with the reason when it is repeated.
    if (plan === undefined) return journal.clear();
    log.info("a chain is resumed", { chain: request.chain_id, finished: steps.size });
    const port = new SessionPort(this.#context, request.chain_id || runId, runId);
    const followers = new Followers();
    const emit = request.streaming ? createPhaseEmitter(clock, started_at, followers) : undefined;
    const run = this.#createRun(runId, request, plan, port, journal, emit);
    const answered = Promise.resolve(run.start()).then((ended) => {
      const result = this.#toResult(request, runId, started_at, ended);
      if (followers.isEmpty) keepAnswer(state, runId, result as unknown as JsonObject, chainLimits.maxKeptAnswers);
      return result;
    });
    answered.catch((error: unknown) => log.error("a resumed chain failed", { run: runId, error }));
    const live = new LiveRun({ run, request, plan, port, journal, followers, answered, isResumed: true });
    void this.#watch(runId, live);
  }

  list(): RunList {
    const running: RunList = Array.from(this.#live, ([runId, live]) => live.describe(runId));
    const answered: RunList = Array.from(keptAnswers(this.#context.state), ([run_id, answer]) => {
      const { chain_id, nodes_run = 0 } = answer as unknown as RunResult;
      return { run_id, chain_id, status: "answered", nodes_run, nodes_total: nodes_run, resumed: true };
    });
    return [...running, ...answered];
  }

  cancel(runId: string): boolean {
    const live = this.#live.get(runId);
    live?.abort(cancelledByAgent());
    return live !== undefined;
  }

  /** Leaves runs in progress to the next host, once the running nodes have ended or the signal aborts. */
  async leave(signal: AbortSignal): Promise<string[]> {
    const left = await Promise.all(
      Array.from(this.#live, async ([runId, live]) => ((await live.leave(signal)) ? [runId] : [])),
    );
    return left.flat();
  }

  close(): void {
    for (const live of [...this.#live.values()]) live.close();
  }
}
